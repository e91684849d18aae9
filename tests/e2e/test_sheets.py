"""Every page that `loadtest/moderators` measures is there."""

from pathlib import Path

from commentsvc import datadir
from commentsvc.database import Database
from loadtest.data import bulk
from loadtest.workloads import admin_requests

NUMBER = 10_000  # fewer have no second site


def test_all_pages_are_shown_to_a_moderator_and_measured(data: Path) -> None:
    datadir.prepare(data)
    path = data / datadir.DATABASE
    bulk.make(path, NUMBER, words=3)
    database = Database(path, purge=lambda tags: None)
    database.open()
    try:
        admin_requests.employ(database)
    finally:
        database.close_now()
    found = admin_requests.measure(data, NUMBER)
    assert found.keys() == admin_requests.pages(NUMBER).keys()
    assert all(0 < sheet.median <= sheet.longest for sheet in found.values())
