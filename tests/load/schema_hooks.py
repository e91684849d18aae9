"""Rules that an OpenAPI document cannot state, for schemathesis (SCHEMATHESIS_HOOKS)."""

from typing import Any

import schemathesis


@schemathesis.hook
def before_call(context: Any, case: schemathesis.Case[Any], kwargs: Any) -> None:
    """Let a request that is meant to be valid keep the rules between its fields.

    `since` goes with the order `oldest` alone and without `after`. `notify` wants an `email`.
    A `parent` is a comment of the same page, and `base` the address of the settings.
    """
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    query, body = case.query, case.body
    if query:
        query.pop("base", None)
    if query and "since" in query:
        query.pop("after", None)
        query.pop("sort", None)
    if isinstance(body, dict):
        if not body.get("email"):
            body.pop("notify", None)
        body.pop("parent", None)


@schemathesis.serializer("message/rfc822")
def serialize_mail(context: Any, value: object) -> bytes:
    """Send a mail: the document says nothing of what is in it."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
