"""loadtest/harness/service.py: what is read of a running server."""

import re

import msgspec
import pytest

from commentsvc.settings.schema import Settings
from loadtest.harness.programs import ROOT
from loadtest.harness.service import START, ServiceError, parse_counters

METRICS = """# TYPE commentsvc_core_hits_total counter
commentsvc_core_hits_total 1.5e+06
commentsvc_core_misses_total 12.0
"""


def test_the_port_is_read_from_the_announcement() -> None:
    match = START.match("commentsvc listens on http://127.0.0.1:34567")
    assert match is not None
    assert match[1] == "34567"


def test_counters_are_read_whole() -> None:
    names = ("commentsvc_core_hits_total", "commentsvc_core_misses_total")
    assert parse_counters(METRICS, names) == dict(zip(names, (1_500_000, 12), strict=True))
    assert parse_counters(METRICS, ["hits_total"]) == {"hits_total": 1_500_000}


def test_a_counter_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ServiceError, match="0 metrics named absent"):
        parse_counters(METRICS, ["absent"])
    with pytest.raises(ServiceError, match="2 metrics named total"):
        parse_counters(METRICS, ["total"])


def test_every_setting_of_the_load_tests_exists() -> None:
    """A proxy's own variables, as COMMENTSVC_HTTP_PORT, have no section of ours."""
    known = {
        f"COMMENTSVC_{section.name}_{field.name}".upper()
        for section in msgspec.structs.fields(Settings)
        if isinstance(section.default, msgspec.Struct)
        for field in msgspec.structs.fields(section.default)
    }
    sections = {name.split("_")[1] for name in known}
    text = "".join(path.read_text() for path in (ROOT / "loadtest").rglob("*.py"))
    used = set(re.findall(r"\bCOMMENTSVC_([A-Z]+)_([A-Z_]+)\b", text))
    wrong = {f"COMMENTSVC_{a}_{b}" for a, b in used if a in sections} - known
    assert used
    assert not wrong
