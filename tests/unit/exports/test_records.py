"""The lines of an export are valid by the JSON Schema, checked with an independent library."""

import jsonschema_rs
import msgspec
import pytest

from commentsvc.exports import records

THREAD = {"type": "thread", "site": "blog", "url": "/post/"}


@pytest.fixture(scope="module")
def schema() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(msgspec.json.decode(records.schema()))


@pytest.mark.parametrize(
    ("line", "valid"),
    [
        (THREAD, True),
        (THREAD | {"aliases": ["/old/"], "state": "closed"}, True),
        (THREAD | {"state": "ajar"}, False),
        (THREAD | {"from a newer version": 1}, True),
        ({"type": "thread", "site": "blog"}, False),
        ({"type": "header", "format": "commentsvc", "version": 1}, True),
        ({"type": "header", "format": "commentsvc", "version": 2}, False),
        ({"type": "ban", "kind": "word", "value": "x", "created": "2026-01-02"}, False),
        ({"type": "end", "comments": -1}, False),
        ({"type": "something else"}, False),
    ],
)
def test_the_schema_and_our_reader_agree(
    schema: jsonschema_rs.Validator, line: dict[str, object], valid: bool
) -> None:
    assert schema.is_valid(line) == valid
    try:
        msgspec.json.decode(msgspec.json.encode(line), type=records.Record)
    except msgspec.ValidationError:
        assert not valid
    else:
        assert valid
