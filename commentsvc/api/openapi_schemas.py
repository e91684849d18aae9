"""Schemas: the shapes of what is sent and answered, for the OpenAPI document.

The shapes of comments and receipts are those of the structs that are encoded, bounds are
those of the settings. Only what no struct describes is written out.
"""

from typing import Any

import msgspec

from commentsvc.api.serialize import Item, Receipt, Revised
from commentsvc.comments import submission
from commentsvc.comments.urls import LENGTH
from commentsvc.moderation.personal_data import Export
from commentsvc.settings.schema import Settings

Json = dict[str, Any]  # Any: a piece of a JSON document, whose form the OpenAPI standard defines

# As https://altcha.org/docs/v2/proof-of-work-v2/ has it.
WORK: Json = {
    "type": "object",
    "description": "A challenge in ALTCHA's format, version 2 (PBKDF2/SHA-256).",
    "properties": {"parameters": {"type": "object"}, "signature": {"type": "string"}},
    "required": ["parameters", "signature"],
}


def components(settings: Settings) -> Json:
    """Give the schemas and parameters that the operations refer to."""
    return {"schemas": _schemas(settings), "parameters": _parameters(settings)}


def reference(schema: str) -> Json:
    """Refer to one of the schemas by its name."""
    return {"$ref": f"#/components/schemas/{schema}"}


def _schemas(settings: Settings) -> Json:
    _, schemas = msgspec.json.schema_components(
        (Item, Receipt, Revised, Export), ref_template="#/components/schemas/{name}"
    )
    _, sent = msgspec.json.schema_components((submission.Fields,))
    schemas["Submission"] = _submission(sent["Fields"], settings)
    text, number = {"type": "string"}, {"type": "integer", "minimum": 0}
    return schemas | {
        "Error": _object({"error": _error()}),
        "Count": _object({"count": number}),
        "Counts": _object({"counts": {"type": "object", "additionalProperties": number}}),
        "List": _object(
            {"data": {"type": "array", "items": reference("Item")}, "count": number},
            {
                "next": text,
                "closes": {"type": "string", "format": "date-time"},
                "voting": {"enum": ["up", "both"]},
                "votes": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
        ),
        "Message": _object({"message": _bounded(settings.comments.message_length)}),
        "Preview": _object({"html": text}),
        "Ballot": _ballot(),
        "Votes": _object({"votes": {"type": "integer"}, "vote": {"enum": [1, 0, -1]}}),
        "Invitation": _invitation(),
        "Address": _object({"email": text}),
        "Health": _object({"status": text}),
        "Client": _object(
            {"address": text, "host": text, "time": {"type": "string", "format": "date-time"}}
        ),
        "StacosysForm": _object(
            dict.fromkeys(("url", "author", "message"), text),
            dict.fromkeys(("email", "site", "token", "captcha", "remarque"), text),
        )
        | {"additionalProperties": True},
        "StacosysJson": _object(
            dict.fromkeys(("url", "author", "message"), text),
            dict.fromkeys(("email", "site", "captcha", "token"), text) | {"subscribe": {}},
        )
        | {"additionalProperties": True},
    }


def _error() -> Json:
    text = {"type": "string"}
    fields = {"type": "object", "additionalProperties": text}
    return _object({"code": text, "message": text}, {"fields": fields})


def _invitation() -> Json:
    length, notify = {"type": "integer", "minimum": 1}, {"type": "boolean"}
    return _object(
        {"form_token": {"type": "string"}, "length": length, "notify": notify},
        {"proof_of_work": WORK},
    )


def _ballot() -> Json:
    vote = {"enum": [1, 0, -1], "description": "-1 only where `voting` is both."}
    word = {"description": "A random word as a submission's key; one for each reader."}
    return _object({"vote": vote, "voter": _bounded(64) | word})


def _submission(schema: Json, settings: Settings) -> Json:
    properties = schema["properties"]
    properties["url"] = _bounded(LENGTH) | {"description": "A path, or an address of the site."}
    properties["author"] = _bounded(settings.comments.author_length)
    properties["message"] = _bounded(settings.comments.message_length) | {
        "description": "Markdown (GitHub's); raw HTML is shown as text."
    }
    properties["site"]["description"] = "The author's web site, http or https."
    properties["parent"]["description"] = "The id of the comment that this one answers."
    properties["key"]["description"] = (
        "A random word of 8 to 64 characters (A-Z a-z 0-9 - . _ ~) that the client keeps secret and"
        " sends again when it repeats a submission, which is then stored once."
    )
    properties["notify"]["description"] = (
        "Whether to mail the author when somebody answers; the author is asked to confirm it once."
        " Where the service sends no mail, it means nothing."
    )
    properties["form_token"]["description"] = (
        "What GET /api/form-token gave when the form was opened."
    )
    properties["proof_of_work"]["description"] = (
        "A solution of the work that came with the form token (ALTCHA)."
    )
    properties["subject"]["description"] = "Leave it empty: what fills it is taken for spam."
    return schema | {"required": ["url", "author", "message"], "title": "Submission"}


def _parameters(settings: Settings) -> Json:
    text, most = {"type": "string"}, settings.comments.list_limit
    page = "The page: a path, or an address whose origin belongs to a site."
    urls = {"type": "array", "items": text, "maxItems": 100}
    return {
        "url": _query("url", text, f"{page} Without it the whole site."),
        "page": _query("url", text, page) | {"required": True},
        "urls": _query("url", urls, f"{page} May be repeated."),
        "site": _query("site", text, "The name of the site; without it the first one."),
        "sort": _query(
            "sort", {"enum": ["oldest", "newest", "top"], "default": "oldest"}, "Order."
        ),
        "limit": _query(
            "limit", {"type": "integer", "minimum": 1, "default": most}, f"At most; {most} are."
        ),
        "after": _query("after", text, "`next` of the answer before."),
        "since": _query(
            "since", {"type": "string", "format": "date-time"}, "Only what is new or changed since."
        ),
        "lang": _query("lang", {"type": "string", "default": "en"}, "The language of the texts."),
        "base": _query("base", text, "The address of this service, for the form."),
        "view": _query("view", {"enum": ["page"]}, "A whole page instead of a fragment."),
        "closed": _query("closed", {"enum": ["yes"]}, "No form: the page says that it is closed."),
        "parent": _query("parent", {"type": "integer"}, "The comment that the form answers."),
        "t": _query("t", text, "The token of a link, as the mail has it.") | {"required": True},
        "id": {
            "name": "id",
            "in": "path",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        },
        "path": {"name": "path", "in": "path", "required": True, "schema": text},
    }


def _query(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "in": "query", "schema": schema, "description": description}


def _bounded(most: int) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": most}


def _object(required: Json, optional: Json | None = None) -> Json:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": [*required],
        "additionalProperties": False,
    }
