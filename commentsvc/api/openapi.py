"""The OpenAPI document: the HTTP interface for machines, built from the code's own types.

One table of operations, in the order of the routes; a test compares it with them, and real
answers with `openapi_schemas`. Every operation may also meet the core's refusals (408, 414, 431 and
the like), which are not in this table; they stand in the description, once.
"""

from dataclasses import dataclass
from importlib.metadata import version

from commentsvc.api.openapi_schemas import Json, components, reference
from commentsvc.settings.schema import Settings

DESCRIPTION = """\
Comments for static blogs. All public reads may be asked by any page (`Access-Control-Allow-Origin:
*`), have an `ETag` and are answered by 304 where nothing changed. Writes are open to the configured
origins of a site. No request uses cookies. Errors are JSON as in `Error`; so are
refusals of requests that break the rules of HTTP or the server's bounds (400, 408, 413, 414, 417,
431, 501, 503, 504, 505)."""

REASONS = {
    200: "Done",
    201: "Shown at once",
    202: "Waits for approval",
    204: "Done",
    301: "Its folder",
    302: "Elsewhere",
    400: "Something is wrong with the request; `fields` says what",
    401: "The edit token is missing, or of another comment",
    403: "Pages of this origin may not write, or the time to edit is over",
    404: "There is no such thing",
    409: "The key belongs to another comment, or there are too many votes of one network",
    410: "The link has expired, or was used",
    415: "The body is of the wrong kind",
    429: "Too many submissions; `Retry-After` says when to go on",
    503: "Too busy, or the disk is full; `Retry-After` says when to go on",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `success` has a schema's name, a media type or `""` per status."""

    method: str
    path: str
    summary: str
    parameters: tuple[str, ...] = ()
    body: tuple[tuple[str, str], ...] = ()  # media type and schema
    success: tuple[tuple[int, str], ...] = ()
    errors: tuple[int, ...] = ()


_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_WRITE = (400, 403, 409, 415, 429, 503)
_READ = (400, 503)
_SUBMITTED = ((201, "Receipt"), (202, "Receipt"))
_LINKED = tuple((status, "text/html") for status in (200, 400, 410, 503))
_OWN = tuple((status, "text/html") for status in (200, 404))
_BY_TOKEN = (401, 403, 404, 503)
_LISTED = ("page", "site", "sort", "limit", "after", "since")

OPERATIONS = (
    Operation("GET", "/api/ping", "Is it there?", success=((200, "text/plain"),)),
    Operation("GET", "/api/comments/count", "Count", ("url", "site"), (), ((200, "Count"),), _READ),
    Operation(
        "GET", "/api/comments/counts", "Counts", ("urls", "site"), (), ((200, "Counts"),), _READ
    ),
    Operation("GET", "/api/comments", "List", _LISTED, (), ((200, "List"),), _READ),
    Operation(
        "GET",
        "/api/comments/stream",
        "Live: an event with a `Count` and an id now and at each change, at most one a second",
        ("page", "site"),
        (),
        ((200, "text/event-stream"),),
        _READ,
    ),
    Operation(
        "POST",
        "/api/comments",
        "Submit a comment",
        ("site", "lang"),
        (("application/json", "Submission"),),
        _SUBMITTED,
        _WRITE,
    ),
    Operation(
        "PATCH",
        "/api/comments/{id}",
        "Give a comment of one's own another text, by `Authorization: Bearer` and its edit token",
        ("id", "lang"),
        (("application/json", "Message"),),
        ((200, "Revised"),),
        (400, *_BY_TOKEN, 415, 429),
    ),
    Operation(
        "DELETE",
        "/api/comments/{id}",
        "Delete a comment of one's own, likewise",
        ("id",),
        success=((204, ""),),
        errors=_BY_TOKEN,
    ),
    Operation(
        "POST",
        "/api/comments/{id}/votes",
        "Vote for a comment, or take the vote back",
        ("id",),
        (("application/json", "Ballot"),),
        ((200, "Votes"),),
        (400, 403, 404, 409, 415, 429, 503),
    ),
    Operation(
        "POST",
        "/api/preview",
        "Show a message as it would look",
        ("site",),
        (("application/json", "Message"),),
        ((200, "Preview"),),
        (400, 403, 415, 429),
    ),
    Operation(
        "GET",
        "/api/form-token",
        "Open a form",
        ("page", "site"),
        (),
        ((200, "Invitation"),),
        (400,),
    ),
    *(
        Operation("GET", path, text, ("url", "site"), (), ((200, media_type),), _READ)
        for path, text, media_type in (
            ("/feed.atom", "The newest comments as Atom", "application/atom+xml"),
            ("/feed.rss", "The newest comments as RSS 2.0", "application/rss+xml"),
            ("/feed.json", "The newest comments as JSON Feed 1.1", "application/feed+json"),
        )
    ),
    Operation(
        "GET",
        "/embed/thread",
        "A thread and a form as HTML",
        ("page", "site", "base", "view", "closed", "parent", "after", "lang"),
        (),
        ((200, "text/html"),),
        _READ,
    ),
    Operation(
        "POST",
        "/embed/thread",
        "Submit a comment without a script; every answer is an HTML page",
        ("site",),
        tuple((media_type, "Submission") for media_type in _FORMS),
        tuple((status, "text/html") for status in (201, 202, *_WRITE)),
    ),
    Operation(
        "POST",
        "/newcomment",
        "Submit a comment (Stacosys 2 and 3)",
        ("site",),
        tuple((media_type, "StacosysForm") for media_type in _FORMS),
        ((302, ""),),
        _WRITE,
    ),
    Operation("GET", "/ping", "Is it there? (Stacosys 2)", success=((200, "text/plain"),)),
    Operation("GET", "/comments", "List (Stacosys 2)", _LISTED, (), ((200, "List"),), _READ),
    Operation(
        "GET",
        "/comments/count",
        "Count (Stacosys 2)",
        ("url", "site"),
        (),
        ((200, "Count"),),
        _READ,
    ),
    Operation(
        "POST",
        "/comments",
        "Submit a comment (Stacosys 1)",
        ("site",),
        (("application/json", "StacosysJson"),),
        ((200, "text/plain"),),
        (400, 403, 429, 503),
    ),
    *(
        Operation("GET", path, "To the moderation pages (Stacosys)", success=((302, ""),))
        for path in ("/web", "/web/login", "/web/admin")
    ),
    *(
        Operation(method, f"/mail/{what}", f"{text} (HTML)", ("t",), success=_LINKED)
        for what, shows, does in (
            ("comment", "what a link in a moderator's mail would do", "it, once"),
            ("confirm", "the question whether to mail answers to an author", "so"),
            ("stop", "the question whether to mail no more answers", "so (RFC 8058)"),
            ("erase", "how much of an author would be erased", "so, once"),
        )
        for method, text in (("GET", f"Show {shows}"), ("POST", f"Do {does}"))
    ),
    Operation("GET", "/mail/own", "Show a form for an address (HTML)", success=_OWN),
    Operation(
        "POST",
        "/mail/own",
        "Mail links to all that an address has written (HTML)",
        body=tuple((media_type, "Address") for media_type in _FORMS),
        success=(*_OWN, *((status, "text/html") for status in (400, 415, 429, 503))),
    ),
    Operation("GET", "/mail/export", "Show what an export holds (HTML)", ("t",), success=_LINKED),
    Operation(
        "POST",
        "/mail/export",
        "All that is kept of an address",
        ("t",),
        success=((200, "Export"), *_LINKED[1:]),
    ),
    Operation(
        "GET",
        "/api/avatar/{path}",
        "The picture of who has that MD5 of an e-mail address",
        ("path", "site"),
        (),
        ((200, "image/*"),),
        (400, 404),
    ),
    Operation("GET", "/api/client", "Who am I to the service?", success=((200, "Client"),)),
    Operation("GET", "/healthz", "Does the program run?", success=((200, "Health"),)),
    Operation("GET", "/readyz", "Can it work?", success=((200, "Health"),), errors=(503,)),
    Operation("GET", "/metrics", "Metrics (Prometheus)", success=((200, "text/plain"),)),
    Operation("GET", "/openapi.json", "This document", success=((200, "application/json"),)),
    Operation(
        "GET", "/static/{path}", "A file of the widget", ("path",), (), ((200, "*/*"),), (404,)
    ),
)


def document(settings: Settings) -> Json:
    """Give the OpenAPI 3.1 document for a service with these settings."""
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "commentsvc",
            "version": version("commentsvc"),
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "."}],  # where the document is: perhaps in a folder of its host
        "paths": paths,
        "components": components(settings),
    }


def _operation(operation: Operation) -> Json:
    answers = {
        str(status): {"description": REASONS[status], **_content(kind)}
        for status, kind in (
            *operation.success,
            *((status, "Error") for status in operation.errors),
        )
    }
    name = f"{operation.method.lower()}{operation.path.translate(_NOT_IN_NAMES)}"
    described: Json = {"operationId": name, "summary": operation.summary, "responses": answers}
    if operation.parameters:
        described["parameters"] = [
            {"$ref": f"#/components/parameters/{parameter}"} for parameter in operation.parameters
        ]
    if operation.body:
        content = {kind: {"schema": reference(schema)} for kind, schema in operation.body}
        described["requestBody"] = {"required": True, "content": content}
    return described


_NOT_IN_NAMES = str.maketrans({"/": "_", ".": "_", "{": None, "}": None})


def _content(kind: str) -> Json:
    if not kind:
        return {}
    if "/" in kind:
        return {"content": {kind: {}}}
    return {"content": {"application/json": {"schema": reference(kind)}}}
