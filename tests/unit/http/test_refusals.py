"""The bodies of requests that the core refuses by itself."""

import json

import pytest

from commentsvc.http import refusals
from tests.core_server import core_server


def test_each_body_is_an_error_in_the_documented_form() -> None:
    codes = set()
    for body in refusals.bodies().values():
        error = json.loads(body)["error"]
        assert error.keys() == {"code", "message"}
        assert error["message"].endswith(".")
        codes.add(error["code"])
    assert len(codes) == len(refusals.bodies()), "each has a code of its own"


@pytest.mark.parametrize("status", refusals.bodies())
def test_the_core_wants_a_body_for_each_status(status: int) -> None:
    bodies = refusals.bodies()
    del bodies[status]
    with pytest.raises(ValueError, match=f"bytes for {status}"):
        core_server(refusals=bodies)


@pytest.mark.parametrize("name", ["", "a\r\nb", "a" * 65])
def test_the_type_of_refusals_is_the_value_of_a_field(name: str) -> None:
    with pytest.raises(ValueError, match="refusal_type"):
        core_server(refusal_type=name)
