"""``@Name`` leads to the last comment of that name above, on the same page."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.comments import queries, rendering, site_rows
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.database import Database
from commentsvc.markup import people
from commentsvc.model import DELETED, PENDING
from tests.unit.database_fixture import add, decide, opened

PAGE = PageRef("blog", "/post/")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


def named(database: Database, source: str) -> dict[str, int]:
    return database.read_now(rendering.find_people_on, PAGE, source)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("@Ann", "Ann"),
        ("Hello @Ann, so", "Ann"),
        ("(@Ann)", "Ann"),
        ("**@Ann**", "Ann"),
        ("@Ann Lee and", "Ann Lee"),
        ("@J. Doe!", "J. Doe"),
        ("@Zoë-Marie: no", "Zoë-Marie"),
        ("@李雷 你好", "李雷"),
    ],
)
def test_a_name_is_found_in_what_follows(source: str, name: str) -> None:
    assert name in people.names(source)


@pytest.mark.parametrize("source", ["ann@blog.example", "@ Ann", "@@", "a@b", "https://x/@Ann"])
def test_addresses_name_nobody(source: str) -> None:
    assert people.names(source) == set()


def test_names_that_are_looked_up_are_bounded() -> None:
    assert len(people.names("@a b c d e f g h i j k l m n o p " * 500)) <= people.MOST * 12
    assert people.names("@" + "a" * 8_000) == {"a" * people.NAME}


def test_the_last_approved_comment_on_the_page_counts(database: Database) -> None:
    first = add(database, author="Ann Lee", url=PAGE.url).comment.id
    second = add(database, author="Ann Lee", url=PAGE.url).comment.id
    add(database, author="Ann Lee", url=PAGE.url, status=PENDING)
    add(database, author="Ann Lee", url="/other/")
    add(database, author="Ann", url="/other/")
    assert named(database, "Well, @Ann Lee, no") == {"Ann Lee": second}
    decide(database, DELETED, second)
    assert named(database, "@Ann Lee") == {"Ann Lee": first}
    assert named(database, "@ann lee") == {}


def test_a_stored_comment_mentions_only_comments_above_it(database: Database) -> None:
    first = add(database, author="Bo", url=PAGE.url).comment.id
    own = add(database, url=PAGE.url, source="@Bo")
    add(database, author="Bo", url=PAGE.url)
    thread = database.read_now(queries.thread, *PAGE).id
    html = database.read_now(rendering.render, thread, "@Bo", own.comment.id)
    assert html == (f'<p><a href="#commentsvc-{first}" rel="nofollow ugc noopener">@Bo</a></p>\n')


def test_text_in_links_and_code_stays(database: Database) -> None:
    add(database, author="Bo", url=PAGE.url)
    thread = database.read_now(queries.thread, *PAGE).id
    html = database.read_now(rendering.render, thread, "`@Bo` [@Bo](/x) @Bob x@Bo *@Bo*")
    assert html.count("#commentsvc-") == 1
    assert "<em><a href" in html


def test_formulas_are_shown_on_the_sites_that_want_them(database: Database) -> None:
    add(database, url=PAGE.url)
    thread = database.read_now(queries.thread, *PAGE).id
    assert "<math" not in database.read_now(rendering.render, thread, "$x$")
    database.write_now(site_rows.set_math, ["blog"])
    assert "<math" in database.read_now(rendering.render, thread, "$x$")
    database.write_now(site_rows.set_math, ["other"])
    assert "<math" not in database.read_now(rendering.render, thread, "$x$")
