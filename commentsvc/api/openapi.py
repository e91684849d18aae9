"""The OpenAPI document of the HTTP API, made from the operations of the routes."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import Any, Final

import msgspec

from commentsvc.api.author import VALUES
from commentsvc.api.static_files import TAG, public_headers
from commentsvc.comments.page_urls import LENGTH
from commentsvc.http.messages import JSON, Error, Response, encode
from commentsvc.http.operation import Content, Operation, declared, handles, json_of
from commentsvc.http.router import Route
from commentsvc.settings.schema import Settings, Site
from commentsvc.settings.types import REQUIRED
from commentsvc.util.installation import version

Json = dict[str, Any]  # Any: part of a JSON document as the OpenAPI standard defines it

DESCRIPTION: Final = """\
Comments for static blogs. Every page may ask the public reads (`Access-Control-Allow-Origin: *`);
they have an `ETag` and are answered by 304 where nothing changed. Pages at the configured origins
of a site may write. No request uses cookies, but those of Isso's clients by the author of a
comment. Errors are JSON as in `Error`; so are refusals of requests that break the rules of HTTP or
the bounds of the server (400, 408, 413, 414, 417, 431, 501, 503, 504, 505)."""

# The meaning of a status here, if the standard's phrase does not say it.
MEANINGS: Final = {
    201: "Shown at once",
    202: "Waits for approval",
    204: "Done",
    302: "Elsewhere",
    400: "Something is wrong with the request; `fields` says what",
    401: "The token is missing, has expired, or belongs to something else",
    403: "Pages of this origin, or this token, may not do that, or the time to edit is over",
    404: "There is no such thing",
    409: "That contradicts what is stored; the message says how",
    410: "The link has expired, or was used",
    414: "The address is too long",
    415: "The body is of the wrong kind",
    429: "Too many requests; `Retry-After` says when to go on",
    503: "Too busy, or the disk is full; `Retry-After` says when to go on",
}

# Of answers to GET that need no token: the cached ones are compressed.
COMPRESSED: Final = {
    "Content-Encoding": {
        "description": "In long cached answers, if `Accept-Encoding` of the request allows it.",
        "schema": {"enum": ["br", "gzip"]},
    },
    "Vary": {
        "description": "`Accept-Encoding`, if the answer can be compressed; `Origin`, if it is for"
        " pages of one origin.",
        "schema": {"type": "string"},
    },
}
PATH_ID: Final = {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}


class ApiDescription:
    """The handler of the document. `routes` are all other routes."""

    def __init__(self, settings: Settings, routes: Sequence[Route]) -> None:
        own = [operation for operation, _ in declared(self)]
        self._operations = [*(each.operation for each in routes if each.operation), *own]
        self._headers = (("Content-Type", JSON), *public_headers(settings))
        self._settings = settings

    @handles("GET", "/openapi.json", Content(JSON), errors=(400,))
    def openapi(self) -> Response:
        """The OpenAPI description of this API."""
        return Response(200, self._headers, self._document, TAG)

    @cached_property
    def _document(self) -> bytes:
        """Return the document, made at the first request: it takes 30 ms, and few ask for it."""
        return encode(document(self._settings, self._operations))


def document(settings: Settings, operations: Iterable[Operation[Any]]) -> Json:
    """Return the OpenAPI 3.1 document of those `operations` that are public."""
    public = [operation for operation in operations if not operation.for_moderators]
    kinds = [Error, *(each.type for each in _contents(public) if each.type is not None)]
    kinds += [operation.path_type for operation in public]
    queries = [operation.query for operation in public]
    schemas, components = msgspec.json.schema_components(
        [*kinds, *queries], ref_template="#/components/schemas/{name}"
    )
    known = {id(kind): schema for kind, schema in zip(kinds, schemas, strict=False)}
    parameters = {query: components.pop(query.__name__, {}) for query in dict.fromkeys(queries)}
    paths: dict[str, Json] = {}
    for operation in public:
        described = _described(operation, known, parameters[operation.query])
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "commentsvc",
            "version": version(),
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "."}],  # relative: the service may be in a folder of its host
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "editToken": {"type": "http", "scheme": "bearer"},
                "readerToken": {"type": "http", "scheme": "bearer"},
                "moderatorToken": {"type": "http", "scheme": "bearer"},
                "blogToken": {"type": "http", "scheme": "bearer"},
            },
        },
    }
    bounded: Json = _bounded(whole, _bounds(settings))
    return bounded


def _contents(operations: Iterable[Operation[Any]]) -> list[Content]:
    return [
        content
        for operation in operations
        for content in (*operation.body, *operation.answers.values())
    ]


def _described(operation: Operation[Any], known: Mapping[int, Json], query: Json) -> Json:
    errors = (*operation.errors, 414) if query.get("properties") else operation.errors
    answers = {**operation.answers, **dict.fromkeys(errors, json_of(Error))}
    is_public = operation.method == "GET" and not (operation.bearer or operation.permission)
    described: Json = {
        "operationId": f"{operation.method.lower()}{_named(operation.path)}",
        "summary": operation.summary,
        "responses": {
            str(status): {
                "description": MEANINGS.get(status, HTTPStatus(status).phrase),
                **({"headers": COMPRESSED} if is_public and status == 200 else {}),
                **_content([content], known),
            }
            for status, content in sorted(answers.items())
        },
    }
    if operation.note:
        described["description"] = operation.note
    parameters = [*_in_path(operation, known), *_in_query(query)]
    if parameters:
        described["parameters"] = parameters
    if operation.body:
        described["requestBody"] = {"required": True, **_content(operation.body, known)}
    if operation.bearer:
        described["security"] = [{f"{operation.bearer}Token": []}]
    if operation.permission:
        described["security"] = [{"moderatorToken": []}]
    return described


def _named(path: str) -> str:
    return re.sub(r"[/.]", "_", path).replace("{", "").replace("}", "")


def _content(contents: Iterable[Content], known: Mapping[int, Json]) -> Json:
    content = {
        each.media_type: {} if each.type is None else {"schema": known[id(each.type)]}
        for each in contents
        if each.media_type
    }
    return {"content": content} if content else {}


def _in_path(operation: Operation[Any], known: Mapping[int, Json]) -> Iterable[Json]:
    for name in re.findall(r"{(\w+)}", operation.path):
        schema = PATH_ID if name == "id" else known[id(operation.path_type)]
        yield _parameter(name, "path", True, schema)


def _in_query(query: Json) -> Iterable[Json]:
    for name, schema in query.get("properties", {}).items():
        yield _parameter(name, "query", name in query.get("required", ()), schema)


def _parameter(name: str, where: str, required: bool, schema: Json) -> Json:
    description = {key: text for key, text in schema.items() if key == "description"}
    schema = {key: value for key, value in schema.items() if key != "description"}
    return {"name": name, "in": where, "required": required, "schema": schema, **description}


def _bounded(node: Any, bounds: Mapping[str, Json]) -> Any:
    """Replace each key ``x-setting`` by the limits from the settings; unindent descriptions."""
    if isinstance(node, list):
        return [_bounded(each, bounds) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _bounded(value, bounds) for key, value in node.items() if key != "x-setting"}
    if isinstance(text := made.get("description"), str):  # a docstring, as the source has it
        made["description"] = inspect.cleandoc(text)
    return made | bounds[node["x-setting"]] if "x-setting" in node else made


def _bounds(settings: Settings) -> dict[str, Json]:
    url = {"pattern": url_pattern(settings.sites), "minLength": 1, "maxLength": LENGTH}
    author: Json = {"minLength": 1, "maxLength": settings.comments.author_length}
    if any(site.name_field != REQUIRED for site in settings.sites):
        author = {"maxLength": settings.comments.author_length}
    emoji = sorted({each for site in settings.sites for each in site.reactions})
    return {
        "author": author,
        "message": {"minLength": 1, "maxLength": settings.comments.message_length},
        "site": {"enum": ["", *(site.name for site in settings.sites)]},
        "emoji": {"enum": emoji},
        "emoji or nothing": {"enum": ["", *emoji]},
        "vote": {"enum": [*VALUES[settings.comments.votes]]},
        "url": url,
        "url or nothing": url | {"pattern": f"^$|{url['pattern']}", "minLength": 0},
    }


def url_pattern(sites: Sequence[Site]) -> str:
    """Return the pattern of urls that name a page of one of `sites`, see `comments.page_urls`."""
    good = r"[^#%\x00-\x1f\x7f-\x9f]|%(?![01][0-9A-Fa-f]|7[Ff])"
    end = rf"(?:{good})*(?:#[\s\S]*)?$"
    path = rf"^ *(?![A-Za-z][A-Za-z0-9+.-]*:)(?! )(?:{good}){end}"
    hosts = "|".join(
        re.escape(exact.partition("://")[2]) for site in sites for exact in site.origins
    )
    return rf"{path}|^ *https?://(?:{hosts})(?:[/?]{end}|(?:#[\s\S]*)?$)" if hosts else path
