"""A query is parsed as declared, and an error names the valid values."""

from collections.abc import Mapping
from typing import Annotated, Literal

import pytest
from msgspec import UNSET, Meta, UnsetType, field

from commentsvc.http.messages import HttpError, Request
from commentsvc.http.operation import (
    Operation,
    Query,
    declare,
    declared,
    read_fields,
    summary_of,
)


class SomeQuery(Query, frozen=True):
    """One parameter of each kind."""

    name: str
    order: Literal["up", "down"] = "up"
    most: Annotated[int, Meta(ge=1, extra={"message": "From 1 on."})] | UnsetType = UNSET
    many: Annotated[list[str], Meta(max_length=2, extra={"message": "Two."})] = field(
        default_factory=list
    )


def read(query: str, *, ignores_unknown: bool = False) -> SomeQuery:
    operation = Operation(
        method="GET",
        path="/",
        summary="Some",
        query=SomeQuery,
        ignores_unknown=ignores_unknown,
    )
    return operation.read(Request("GET", "/", query, b"", "", lambda _: None))


def problems(query: str, *, ignores_unknown: bool = False) -> Mapping[str, object]:
    with pytest.raises(HttpError) as caught:
        read(query, ignores_unknown=ignores_unknown)
    assert caught.value.status == 400
    return caught.value.fields or {}


def test_each_kind_of_parameter_is_read() -> None:
    assert read("name=x") == SomeQuery(name="x")
    assert read("name=a+b%C3%A9&most=2&order=down") == SomeQuery(name="a bé", most=2, order="down")
    assert read("many=a&name=&many=b") == SomeQuery(name="", many=["a", "b"])
    assert read("&na%6De=x&&") == SomeQuery(name="x")


def test_all_faults_are_named_at_once() -> None:
    assert problems("order=x&most=0&no=1&many=1&many=2&many=3") == {
        "no": "There is no no here. Known: name, order, most, many.",
        "name": "This is missing.",
        "order": "This must be one of up, down.",
        "most": "From 1 on.",
        "many": "Two.",
    }


@pytest.mark.parametrize("most", ["", "0", "-1", "x", "1.5", "null", "9" * 5_000])
def test_a_number_that_is_none_is_refused(most: str) -> None:
    assert [*problems(f"name=x&most={most}")] == ["most"]


def test_what_is_not_utf8_is_named() -> None:
    assert [*problems("name=%ff")] == ["name"]


class OptionalQuery(Query, frozen=True):
    """A query that may be empty."""

    order: Literal["up", "down"] = "up"


@pytest.mark.parametrize("query", ["", "order=up"])
def test_a_query_may_be_empty(query: str) -> None:
    operation = Operation(method="GET", path="/", summary="Some", query=OptionalQuery)
    request = Request("GET", "/", query, b"", "", lambda _: None)
    assert operation.read(request) == OptionalQuery()


def test_a_parameter_that_is_required_is_missed() -> None:
    assert problems("") == {"name": "This is missing."}


def test_a_parameter_counts_once() -> None:
    assert problems("name=x&name=x") == {"name": "This can be given once only."}
    assert read("name=x&name=y", ignores_unknown=True).name == "x"


def test_what_others_add_may_be_ignored() -> None:
    assert read("name=x&utm_source=y&utm_source=z", ignores_unknown=True) == SomeQuery(name="x")
    assert [*problems("utm_source=y", ignores_unknown=True)] == ["name"]


def test_an_answer_does_not_grow_with_what_was_asked() -> None:
    named = problems("name=x&" + "&".join(f"{n}{'x' * 100}=1" for n in range(200)))
    assert len(named) == 10
    assert max(map(len, named)) == 40


def test_fields_of_a_body_keep_their_types() -> None:
    assert read_fields({"name": "x", "most": 1}, SomeQuery).most == 1
    with pytest.raises(HttpError) as caught:
        read_fields({"name": "x", "most": "1"}, SomeQuery)
    assert caught.value.fields == {"most": "From 1 on."}


def test_operations_are_found_at_the_handlers_that_declare_them() -> None:
    operation = Operation(method="GET", path="/", summary="Some", query=Query)

    class Handlers:
        def answer(self) -> int:
            """Return the
            answer.

            It is known.
            """
            return 42

        declare(answer, operation)

        def other(self) -> None:
            """This is no operation."""

    [(found, handler)] = declared(Handlers())
    assert (found, handler()) == (operation, 42)
    assert [each for each, _ in declared(Handlers)] == [operation]
    assert summary_of(Handlers.answer) == "Return the answer"
