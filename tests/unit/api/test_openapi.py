"""The OpenAPI document is made from the routes and agrees with what they do."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from commentsvc.api.openapi import Json, document, url_pattern
from commentsvc.comments.submission import SubmissionFields
from commentsvc.compat import artalk, waline
from commentsvc.compat.isso import routes as isso
from commentsvc.settings.schema import Site
from commentsvc.util.installation import version
from docs.generate import MODERATORS, PARTS, operations
from tests.unit.app_fixture import SETTINGS, Served, data


@pytest.fixture
def served(service: Served) -> Json:
    """Return the document that the service serves."""
    found: Json = data(service.get("/openapi.json"))
    return found


def test_every_route_is_declared_and_in_the_page_of_the_interface(service: Served) -> None:
    """The routes for clients of Isso, Waline and Artalk exist only for sites that want them."""
    listed = [*operations(MODERATORS), *(each for _, _, some in PARTS for each in operations(some))]
    declared = [route.operation for route in (*service.routes, *service.pages)]
    assert None not in declared
    wanted = {id(each) for each in listed} - {id(each) for each in operations(FOREIGN)}
    assert {id(each) for each in declared} == wanted


FOREIGN = (isso, waline, artalk)


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_the_document_has_every_public_route_and_no_other(service: Served, served: Json) -> None:
    operations = {
        (method.upper(), path) for path, methods in served["paths"].items() for method in methods
    }
    assert operations == {(route.method, route.pattern) for route in service.routes}


def test_every_reference_leads_to_something_and_nothing_is_left_over(served: Json) -> None:
    there = {f"#/components/schemas/{name}" for name in served["components"]["schemas"]}
    assert set(references(served)) == there


def test_descriptions_are_not_indented_as_docstrings_are(served: Json) -> None:
    described = [each["description"] for each in served["components"]["schemas"].values()]
    assert any("\n" in text for text in described)
    assert not [text for text in described if "\n " in text]


def test_answers_that_may_be_compressed_say_so(served: Json) -> None:
    count = served["paths"]["/api/comments/count"]["get"]["responses"]
    assert set(count["200"]["headers"]) == {"Content-Encoding", "Vary"}
    assert "headers" not in count["400"]
    submitted = served["paths"]["/api/comments"]["post"]["responses"]
    assert not [each for each in submitted.values() if "headers" in each]
    queue = served["paths"]["/api/moderation/comments"]["get"]["responses"]
    assert "headers" not in queue["200"]


def test_every_operation_has_a_name_of_its_own(served: Json) -> None:
    names = [
        operation["operationId"]
        for methods in served["paths"].values()
        for operation in methods.values()
    ]
    assert len(set(names)) == len(names)


def answers(service: Served, served: Json) -> Iterator[tuple[str, str, int, str]]:
    """Return method, path, status and media type of real answers, successes and errors."""
    good = {"url": "/p/", "author": "Ann", "message": "Hi"}
    for pattern, methods in served["paths"].items():
        path = pattern.replace("{path}", "count.js").replace("{id}", "1")
        for method, operation in methods.items():
            for query in ("?url=/p/", "?url=%ff", "?site=other", "?lang=%ff"):
                if method == "get":
                    answer = service.get(path + query)
                elif method in ("patch", "delete", "put"):
                    answer = service.ask(method.upper(), path + query, b'{"message": "Hi"}')
                elif "application/json" in operation.get("requestBody", {}).get("content", {}):
                    answer = service.post(path + query, good)
                else:
                    answer = service.form(path + query, "url=/p/&author=Ann&message=Hi")
                media_type = dict(answer.headers).get("Content-Type", "").partition(";")[0]
                yield method, pattern, answer.status, media_type


def test_every_answer_is_among_those_that_are_told(service: Served, served: Json) -> None:
    for method, path, status, media_type in answers(service, served):
        responses = served["paths"][path][method]["responses"]
        assert str(status) in responses, (method, path)
        kinds = responses[str(status)].get("content", {"": {}})
        assert media_type in kinds or "*/*" in kinds, (method, path, status)


def test_the_bounds_are_those_of_the_settings(served: Json) -> None:
    submission = served["components"]["schemas"]["SubmissionFields"]["properties"]
    assert (submission["author"]["maxLength"], submission["message"]["maxLength"]) == (20, 200)
    [_, site, _] = served["paths"]["/api/comments/count"]["get"]["parameters"]
    assert site["schema"]["enum"] == ["", "blog", "notes"]


def test_parameters_are_those_that_the_route_reads(served: Json) -> None:
    url, site = served["paths"]["/api/form-token"]["get"]["parameters"]
    assert (url["name"], url["required"], site["name"]) == ("url", False, "site")
    listed = served["paths"]["/api/comments"]["get"]["parameters"]
    assert [each["name"] for each in listed if each["required"]] == ["url"]
    named = {each["name"]: each["schema"] for each in listed}
    assert named["sort"] == {"enum": ["newest", "oldest", "top"], "default": "oldest"}
    assert named["limit"]["minimum"] == 1


def test_a_submission_has_the_fields_that_are_read(served: Json) -> None:
    schema = served["components"]["schemas"]["SubmissionFields"]
    assert [*schema["properties"]] == [*SubmissionFields.__struct_fields__]
    assert schema["required"] == ["url", "author", "message"]
    assert schema["additionalProperties"] is False


def test_operations_of_moderators_are_left_out(service: Served) -> None:
    operations = [route.operation for route in service.routes if route.operation]
    hidden = [each for each in operations if each.path != "/api/ping"]
    assert "/api/ping" in document(SETTINGS, operations)["paths"]
    assert "/api/ping" not in document(SETTINGS, hidden)["paths"]


@pytest.mark.parametrize(
    ("url", "is_good"),
    [
        ("/p/", True),
        ("p", True),
        ("  /p/#x", True),
        ("//double", True),
        ("https://blog.example", True),
        ("http://blog.example/p?x=1#y", True),
        ("https://other.example/p", False),
        ("mailto:ann", False),
        ("#x", False),
        ("/%00", False),
        ("/\n", False),
        ("", False),
    ],
)
def test_the_pattern_of_urls_is_what_the_service_takes(
    service: Served, url: str, is_good: bool
) -> None:
    pattern = url_pattern([Site(origins=("https://blog.example",))])
    assert bool(re.search(pattern.replace("$", r"\Z"), url)) is is_good
    answer = service.get(f"/api/comments?url={quote(url, safe='')}")
    assert (answer.status == 200) is is_good


def test_the_document_has_the_version_that_the_command_prints(served: Json) -> None:
    assert served["info"]["version"] == version()
