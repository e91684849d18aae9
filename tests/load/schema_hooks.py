"""Hooks for schemathesis (SCHEMATHESIS_HOOKS): rules that an OpenAPI document cannot state."""

from typing import Any

import schemathesis


@schemathesis.hook
def before_call(context: Any, case: schemathesis.Case[Any], kwargs: Any) -> None:
    """Make a request that is meant to be valid follow the rules between its fields.

    `since` is allowed with the order `oldest` and without `after` only. `notify` needs an `email`.
    A `parent` is a comment of the same page, and `base` the address in the settings.
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
            for wish in ("notify", "follow"):
                body.pop(wish, None)
        for name in ("parent", "pid", "rid"):
            body.pop(name, None)


@schemathesis.serializer("message/rfc822")
def serialize_mail(context: Any, value: object) -> bytes:
    """Generate a mail as the body, since the document does not describe its content."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
