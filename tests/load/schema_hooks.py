"""Hooks for schemathesis (SCHEMATHESIS_HOOKS): rules that an OpenAPI document cannot state."""

import re
from typing import Any

import schemathesis

from commentsvc.comments.submission import PLAIN_EMAIL, PLAIN_SITE, is_email, is_site


@schemathesis.hook
def filter_case(context: Any, case: schemathesis.Case[Any]) -> bool:
    """Leave out addresses that are accepted although the document's patterns are narrower."""
    texts = case.body.values() if isinstance(case.body, dict) else ()
    return not any(
        isinstance(text, str)
        and (
            (is_email(text) and not re.search(PLAIN_EMAIL, text))
            or (is_site(text) and not re.search(PLAIN_SITE, text))
        )
        for text in texts
    )


@schemathesis.hook
def before_call(context: Any, case: schemathesis.Case[Any], kwargs: Any) -> None:
    """Make a request that is meant to be valid follow the rules between its fields.

    `since` is allowed with the order `oldest` and without `after` only. `notify` needs an `email`.
    A `parent` is a comment of the same page, and `base` the address in the settings. A `message`
    must not be markup alone. A form has no empty file: schemathesis takes a body that was changed
    here for an invalid one if it has a file, and the service takes an empty one for none.
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
        if getattr(body.get("image"), "data", None) == b"":
            del body["image"]
        if isinstance(message := body.get("message"), str):
            body["message"] = "a" + message[1:]


@schemathesis.serializer("message/rfc822")
def serialize_mail(context: Any, value: object) -> bytes:
    """Generate a mail as the body, since the document does not describe its content."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
