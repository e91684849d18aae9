"""schemas: real answers have the shapes that the document tells of."""

import pytest

from commentsvc.api.openapi_schemas import Json, components, reference
from commentsvc.comments.submission import Fields
from commentsvc.settings.schema import Settings
from tests.unit.app_fixture import Served, data

SCHEMAS = components(Settings())["schemas"]
KINDS = {"string": str, "integer": int, "object": dict, "array": list, "null": type(None)}


def fits(value: object, schema: Json) -> bool:
    """Whether a value fits a schema, in so much of JSON Schema as ours use."""
    if "$ref" in schema:
        return fits(value, SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"])
    if "type" in schema and not isinstance(value, KINDS[schema["type"]]):
        return False
    if isinstance(value, list):
        return all(fits(one, schema["items"]) for one in value)
    if isinstance(value, int):
        return value >= int(schema.get("minimum", value))
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        return {*schema.get("required", ())} <= value.keys() and all(
            fits(one, known.get(name, others)) if name in known or others else False
            for name, one in value.items()
        )
    return True


def test_answers_have_the_shapes_that_are_told(service: Served) -> None:
    first = service.submit(email="ann@blog.example", site="https://ann.example/")
    again = service.submit(email="ann@blog.example", site="https://ann.example/")
    service.submit("Ho", parent=1)
    headers = {
        "content_type": "application/json",
        "authorization": f"Bearer {data(first)['token']}",
    }
    edited = service.ask("PATCH", "/api/comments/1", b'{"message": "New"}', **headers)
    for answer, schema in [
        (first, "Receipt"),
        (again, "Receipt"),
        (service.get("/api/comments?url=/p/"), "List"),
        (service.get("/api/comments?url=/p/&limit=1"), "List"),
        (service.get("/api/comments?url=/never/"), "List"),
        (service.get("/api/comments/count"), "Count"),
        (service.get("/api/comments/counts?url=/p/&url=/q/"), "Counts"),
        (service.post("/api/preview", {"message": "Hi"}), "Preview"),
        (service.post("/api/comments/1/votes", {"vote": 1, "voter": "x" * 8}), "Votes"),
        (edited, "Revised"),
        (service.get("/healthz"), "Health"),
        (service.get("/nothing"), "Error"),
        (service.submit(""), "Error"),
    ]:
        assert fits(data(answer), reference(schema)), schema


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"count": -1}, "Count"),
        ({"count": "1"}, "Count"),
        ({}, "Count"),
        ({"count": 1, "x": 1}, "Count"),
        ({"error": {"code": "x"}}, "Error"),
        ({"data": [{}], "count": 0}, "List"),
    ],
)
def test_the_shapes_exclude_other_values(value: object, schema: str) -> None:
    assert not fits(value, reference(schema))


def test_a_submission_has_the_fields_that_are_read() -> None:
    assert SCHEMAS["Submission"]["properties"].keys() == set(Fields.__struct_fields__)
    least = {"url": "/p/", "author": "Ann", "message": "Hi"}
    assert fits(least | {"parent": None, "email": None}, SCHEMAS["Submission"])
    assert not fits(least | {"mesage": "x"}, SCHEMAS["Submission"])
