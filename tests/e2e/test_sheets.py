"""Every page that `loadtest/moderators` measures is there."""

from pathlib import Path

from commentsvc import datadir
from commentsvc.database import Database
from loadtest import crowd, sheets

NUMBER = 10_000  # fewer have no second site


def test_all_pages_are_shown_to_a_moderator_and_measured(data: Path) -> None:
    datadir.prepare(data)
    path = data / datadir.DATABASE
    crowd.make(path, NUMBER, words=3)
    database = Database(path, purge=lambda tags: None)
    database.open()
    try:
        sheets.employ(database)
    finally:
        database.close_now()
    found = sheets.measure(data, NUMBER)
    assert found.keys() == sheets.pages(NUMBER).keys()
    assert all(0 < sheet.median <= sheet.longest for sheet in found.values())
