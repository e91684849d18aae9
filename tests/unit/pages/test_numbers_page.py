"""The public page of numbers: off by default, cached, and for nobody to index."""

from pathlib import Path

from msgspec.structs import replace

from commentsvc.model import SPAM
from tests.unit.app_fixture import SETTINGS, served
from tests.unit.database_fixture import add, decide

BLOG, NOTES = SETTINGS.sites
WITH = replace(SETTINGS, sites=(replace(BLOG, numbers=True, language="de"), NOTES))


def test_the_page_is_there_where_a_site_wants_it(tmp_path: Path) -> None:
    with served(tmp_path, WITH) as service:
        page = service.get("/numbers")
        assert page.status == 200
        assert "Bisher wurde nichts entschieden." in page.body.decode()
        assert dict(page.headers)["X-Robots-Tag"] == "noindex"
        assert service.get("/numbers?site=notes").status == 404
        assert service.get("/numbers?site=none").status == 400


def test_the_numbers_are_read_once_an_hour(tmp_path: Path) -> None:
    with served(tmp_path, WITH) as service:
        assert "moderators: 10" not in service.get("/numbers?lang=en").body.decode()
        for _ in range(10):
            add(service.database, service.clock.now_ms())
        decide(service.database, SPAM, *range(1, 11), now=service.clock.now_ms())
        assert "moderators: 10" not in service.get("/numbers?lang=en").body.decode()
        service.monotonic += 3_601
        page = service.get("/numbers?lang=en").body.decode()
        assert "Decisions by moderators: 10" in page
