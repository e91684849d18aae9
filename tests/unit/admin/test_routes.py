"""desk: all moderation pages, once each."""

from pathlib import Path

from tests.unit.app_fixture import served


def test_every_page_has_an_address_of_its_own_below_moderation(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        routes = [(route.method, route.pattern) for route in service.pages]
    assert len(routes) == len(set(routes))
    assert all(f"{pattern}/".startswith("/moderation/") for _, pattern in routes)
