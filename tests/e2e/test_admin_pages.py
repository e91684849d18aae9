"""Every page that `python -m loadtest admin-pages` measures exists."""

import os
from pathlib import Path

import pytest

from commentsvc.db.database import Database
from commentsvc.settings import data_dir
from loadtest.data import bulk
from loadtest.workloads import admin_requests

pytestmark = pytest.mark.sqlite_only("a load test makes its data in a file of SQLite")

NUMBER = 10_000  # with fewer there would be no second site


def test_all_pages_are_shown_to_a_moderator_and_measured(data: Path) -> None:
    data_dir.prepare(data)
    path = data / data_dir.DATABASE
    bulk.make(path, NUMBER, words=3)
    database = Database(path, purge=lambda tags: None)
    database.open()
    try:
        admin_requests.add_account(database)
    finally:
        database.close_now()
    found = admin_requests.measure(data, NUMBER, os.sched_getaffinity(0))
    assert found.keys() == admin_requests.pages(NUMBER).keys()
    assert all(0 < sheet.median <= sheet.longest for sheet in found.values())
