"""openapi: the document says what the routes do."""

from collections.abc import Iterator

from commentsvc.api.openapi import OPERATIONS, document
from commentsvc.api.openapi_schemas import Json
from commentsvc.settings.schema import Settings
from tests.unit.app_fixture import Served, data

DOCUMENT = document(Settings())


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_the_document_has_every_route_and_no_other(service: Served) -> None:
    told = {
        (method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods
    }
    assert told == {(route.method, route.pattern) for route in service.routes}


def test_every_reference_leads_to_something_and_nothing_is_left_over() -> None:
    used = set(references(DOCUMENT))
    there = {
        f"#/components/{kind}/{name}"
        for kind, named in DOCUMENT["components"].items()
        for name in named
    }
    assert used == there


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [
        operation["operationId"]
        for methods in DOCUMENT["paths"].values()
        for operation in methods.values()
    ]
    assert len(set(names)) == len(names) == len(OPERATIONS)


def answers(service: Served) -> Iterator[tuple[str, str, int, str]]:
    """Method, path, status and media type of real answers, good and bad."""
    good = {"url": "/p/", "author": "Ann", "message": "Hi"}
    for operation in OPERATIONS:
        path = operation.path.replace("{path}", "count.js").replace("{id}", "1")
        for query in ("?url=/p/", "?url=%ff", "?site=other"):
            if operation.method == "GET":
                answer = service.get(path + query)
            elif operation.method in ("PATCH", "DELETE"):
                answer = service.ask(operation.method, path + query, b'{"message": "Hi"}')
            elif "application/json" in dict(operation.body):
                answer = service.post(path + query, good)
            else:
                answer = service.form(path + query, "url=/p/&author=Ann&message=Hi")
            media_type = dict(answer.headers).get("Content-Type", "").partition(";")[0]
            yield operation.method.lower(), operation.path, answer.status, media_type


def test_every_answer_is_among_those_that_are_told(service: Served) -> None:
    for method, path, status, media_type in answers(service):
        told: Json = DOCUMENT["paths"][path][method]["responses"]
        assert str(status) in told, (method, path)
        kinds = told[str(status)].get("content", {"": {}})
        assert media_type in kinds or "*/*" in kinds, (method, path, status)


def test_the_bounds_are_those_of_the_settings(service: Served) -> None:
    told = data(service.get("/openapi.json"))["components"]["schemas"]["Submission"]["properties"]
    assert (told["author"]["maxLength"], told["message"]["maxLength"]) == (20, 200)
