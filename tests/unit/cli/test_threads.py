"""The commands for whole pages: the orders that they send, and their output."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from commentsvc.blog.translations import LANGUAGES
from commentsvc.cli import client, main, moved_pages, translations
from commentsvc.cli.alias_import import Clash
from commentsvc.comments import page_urls
from commentsvc.model import MOVED
from commentsvc.moderation.moved_pages import BlogAnswer
from commentsvc.moderation.threads import ThreadSummary
from commentsvc.moderation.translations import Version
from commentsvc.runtime import control
from commentsvc.runtime.control_commands import (
    Alias,
    Close,
    CommandResult,
    LinkTranslations,
    Merge,
    Move,
    Order,
    Reset,
    SaveUnlisted,
    SetTitle,
)
from tests.unit.database_fixture import add, opened
from tests.unit.other_site import Page, other_site

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command of `thread` on a data folder with two sites, in this process."""
    (tmp_path / "commentsvc.toml").write_text(
        '[[site]]\norigins = ["https://blog.example"]\ntrailing_slash = "add"\n'
        '[[site]]\nname = "notes"\norigins = ["https://notes.example"]\n'
    )

    def run(verb: str, *words: object, given: str = "") -> Result:
        line = ["thread", verb, "--data", str(tmp_path), *map(str, words)]
        return CliRunner().invoke(main.main, line, input=given)

    return run


@pytest.mark.parametrize(
    ("words", "order", "output"),
    [
        (["close", "/a"], Close("blog", "/a/", "closed"), "closed /a/\n"),
        (["open", "https://notes.example/a?utm_x=1"], Close("notes", "/a", "open"), "opened /a\n"),
        (["age", "--site", "notes", "/a"], Close("notes", "/a", "aging"),
         "closes at the age in close_days: /a\n"),
        (["title", "/a", "A title"], SetTitle("blog", "/a/", "A title"), "titled /a/\n"),
        (["reset", "views", "/a"], Reset("blog", "/a/", "views"), "removed the views of /a/\n"),
        (["move", "/a", "/b"], Move("blog", "/a/", "/b/"), "moved /a/ to /b/\n"),
        (["merge", "/a", "/b"], Merge("blog", "/a/", "/b/"), "merged /a/ into /b/: 3 comments\n"),
        (["alias", "/a", "/b"], Alias("blog", "/b/", "/a/"), "/b/ leads to /a/\n"),
        (["unalias", "/b"], Alias("blog", "/b/", None), "/b/ is not an alias any more\n"),
    ],
)  # fmt: skip
def test_a_verb_orders_by_canonical_urls(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: list[object], order: Order, output: str
) -> None:
    asked: list[Order] = []

    def write(_data: Path, order: Order) -> CommandResult:
        asked.append(order)
        return CommandResult(moved=3)

    monkeypatch.setattr(client, "write", write)
    result = run(*words)
    assert (result.exit_code, result.output) == (0, output)
    assert asked == [order]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["close", "https://else.example/"], "not an origin of this site"),
        (["close", "--site", "x", "/"], 'no site "x"'),
        (["merge", "https://notes.example/a", "/a"], "belong to different sites"),
    ],
)
def test_an_address_that_is_no_page_here_is_one_line(
    run: Run, words: list[object], reason: str
) -> None:
    result = run(*words)
    assert result.exit_code == 1
    assert reason in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_list_has_a_line_for_each_page(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ThreadSummary(1, "blog", "/a/", "A \x1bpage", 12, "aging", ("/b/", "/c/"))
    monkeypatch.setattr(client, "read", lambda _data, _work, text, *_: [page][len(text) :])
    assert run("list").output == "12  aging  blog:/a/ = /b/ = /c/  A \ufffdpage\n"
    assert run("list", "--containing", "x").output == "no pages\n"


LIST = '{"pages": [{"url": "/new", "aliases": ["/old", "/b"], "closed": true}, {"url": "/c/"}]}'


@pytest.mark.parametrize("given", ["file", "standard input"])
def test_a_blogs_list_of_old_addresses_is_taken_over(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str
) -> None:
    steps = [
        Move("blog", "/old/", "/new/"),
        Alias("blog", "/b/", "/new/"),
        Clash("blog", "/c/", "/new/"),
        Close("blog", "/new/", "closed"),
    ]
    asked: list[Order] = []
    monkeypatch.setattr(client, "read", lambda *_: steps)
    monkeypatch.setattr(client, "write", lambda _data, order: asked.append(order))
    (tmp_path / "list.json").write_text(LIST)
    result = run("import", "-" if given != "file" else tmp_path / "list.json", given=LIST)
    assert result.output.splitlines() == [
        "moved /old/ to /new/",
        "/b/ leads to /new/",
        "comments are under /c/ and under /new/; to put them together:"
        " commentsvc thread merge --site blog /c/ /new/",
        "closed /new/",
        "pages in the list: 2",
    ]
    assert asked == [step for step in steps if not isinstance(step, Clash)]


def test_a_list_that_is_none_changes_nothing(run: Run) -> None:
    result = run("import", "-", given="<html>")
    assert result.exit_code == 1
    assert "This is not a list of pages" in result.stderr


BLOG = """
[hooks]
allowed_networks = ["127.0.0.0/8"]
[[site]]
origins = ["%s"]
"""


@pytest.mark.sqlite_only("the order is the same for both")
def test_comments_follow_pages_that_have_moved_once_the_operator_agrees(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moved_pages, "BETWEEN", 0)
    with other_site() as blog, opened(tmp_path) as database:
        (tmp_path / "commentsvc.toml").write_text(BLOG % blog.url("").rstrip("/"))
        for url in ("/old/", "/old/", "/gone/", "/here/"):
            add(database, url=url)
        database.close_now()
        assert "sitemap" in run("moved").stderr, "it has none"
        listed = "".join(f"<url><loc>{blog.url(url)}</loc></url>" for url in ("/here/", "/new/"))
        blog.pages["/sitemap.xml"] = Page(f"<urlset>{listed}</urlset>")
        blog.pages["/old/"] = Page(status=301, headers=(("Location", "/new/"),))
        blog.pages["/new/"] = Page("Here")
        said = run("moved", given="n\n").output
        assert "blog: 2 pages in the sitemap; 2 pages with comments not among them" in said
        assert re.findall(r"(\d+)  blog  (\S+) +(\S+)", said) == [
            ("2", "/old/", "/new/"),
            ("1", "/gone/", "gone"),
        ]
        assert "/new/" not in run("list").output
        said = run("moved", "--yes").output
        assert "moved the comments of 1 page\n" in said
        assert "blog:/new/ = /old/" in run("list").output
        assert run("moved", "--undo").output == "moved the comments of 1 page back\n"
        assert "blog:/old/" in run("list").output
        assert run("moved", "--undo").exit_code == 1
        assert 'no site "x"' in run("moved", "--site", "x").stderr


@pytest.mark.sqlite_only("the order is the same for both")
def test_translations_share_a_thread_once_the_operator_agrees(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moved_pages, "BETWEEN", 0)
    with other_site() as blog, opened(tmp_path) as database:
        (tmp_path / "commentsvc.toml").write_text(BLOG % blog.url("").rstrip("/"))
        for url in ("/a/", "/a/", "/de/a/", "/b/"):
            add(database, url=url)
        database.close_now()
        named = '<link rel="alternate" hreflang="en" href="/%s/">'
        named += '<link rel="alternate" hreflang="de" href="/de/%s/">'
        for page in ("a", "b"):
            blog.pages[f"/{page}/"] = blog.pages[f"/de/{page}/"] = Page(named % (page, page))
        said = run("translations", given="n\n").output
        assert "2 pages with comments in several languages" in said
        assert re.findall(r"1  blog +/de/a/ +de +/a/ \(2 comments there\)", said)
        assert "set translations = true" in said
        assert " = " not in run("list").output, "nothing has changed"
        said = run("translations", "--yes").output
        assert "put the comments of 1 page together with others\n" in said
        listed = run("list").output
        assert re.findall(r"(\d) .* blog:(\S+) = (\S+)", listed) == [
            ("1", "/b/", "/de/b/"),
            ("3", "/a/", "/de/a/"),
        ]
        assert run("translations", "--undo").output == "1 page with comments of its own again\n"
        assert "blog:/de/a/" in run("list").output
        assert run("translations", "--undo").exit_code == 1
        blog.pages["/a/"] = Page(status=503)
        assert "wants to be left alone" in run("translations").stderr


def test_pages_in_many_languages_cross_the_control_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[LinkTranslations] = []

    def write(_data: Path, order: LinkTranslations) -> CommandResult:
        orders.append(order)
        return CommandResult()

    monkeypatch.setattr(client, "write", write)
    url = "/" + "x" * (page_urls.LENGTH - 1)
    long = tuple(Version(url, "abc" + "-12345678" * 3) for _ in range(LANGUAGES))
    groups = [long, *([tuple(Version(f"/{number}/", "de") for number in range(9))] * 99)]
    translations.link(tmp_path, {"blog": groups})
    assert [each for order in orders for each in order.groups] == groups
    assert max(len(msgspec.json.encode(order)) for order in orders) < control.LINE_LIMIT
    assert len({order.at for order in orders}) == 1


def test_what_a_blog_answers_for_many_pages_crosses_the_control_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[SaveUnlisted] = []
    monkeypatch.setattr(client, "write", lambda _data, order: orders.append(order))
    url = "/" + "x" * (page_urls.LENGTH - 1)
    answers = [BlogAnswer(number + 2**62, url, MOVED, url, 2**62) for number in range(101)]
    moved_pages._save(tmp_path, answers)
    assert [each for order in orders for each in order.answers] == answers
    assert max(len(msgspec.json.encode(order)) for order in orders) < control.LINE_LIMIT
