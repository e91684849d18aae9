"""The declared parameters are what the service accepts."""

import pytest

from commentsvc.http.router import Route
from tests.unit.app_fixture import Served, data, faults


def strict(service: Served) -> list[Route]:
    """Return the GET routes that refuse unknown parameters."""
    return [
        route
        for route in service.routes
        if route.operation and route.method == "GET" and not route.operation.ignores_unknown
    ]


def test_every_strict_read_refuses_what_it_does_not_declare(service: Served) -> None:
    assert len(strict(service)) > 6
    for route in strict(service):
        answer = service.get(route.pattern.replace("{path}", "x") + "?nonsense=1")
        if route.operation and route.operation.permission:  # it asks for a token first
            assert answer.status == 401, route.pattern
            continue
        assert answer.status == 400, route.pattern
        assert "nonsense" in faults(answer), route.pattern


@pytest.mark.parametrize("lang", ["de", "pt-BR", "zh-Hant-TW", "sw"])
def test_a_language_is_named_by_its_tag(service: Served, lang: str) -> None:
    assert service.get(f"/embed/thread?url=/p/&lang={lang}").status == 200


@pytest.mark.parametrize("lang", ["", "x", "deutsch", "de-" + "x" * 9, "de-x-x-x-x", "%00"])
def test_what_is_no_tag_is_no_language(service: Served, lang: str) -> None:
    answer = service.get(f"/embed/thread?url=/p/&lang={lang}")
    assert data(answer)["error"]["fields"].keys() == {"lang"}
