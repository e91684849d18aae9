"""The export for Hugo: a file for each page, which changes only when its visible comments do."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from commentsvc.comments import site_rows
from commentsvc.comments.page_urls import UnknownSiteError
from commentsvc.db.database import Database
from commentsvc.exports import hugo
from commentsvc.exports.hugo import (
    ALIASES,
    FORMER_DIGEST,
    DataFilesError,
    DataFilesResult,
    file_name,
)
from commentsvc.model import APPROVED, DELETED
from commentsvc.moderation import pins, retention, threads
from tests.unit.database_fixture import HOUR, NOW, add, decide, opened


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A page with a comment and replies, one of which is pending, and another page."""
    with opened(tmp_path) as database:
        add(database, title="Wet wood", author_site="https://ann.example")
        add(database, parent=1, now=NOW + HOUR, author="Bo")
        add(database, parent=2, status="pending")
        add(database, url="/other/", email="ann@blog.example")
        yield database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blog/data/comments"


def write(database: Database, folder: Path, site: str = "") -> tuple[int, int, int]:
    """Return how many files were written, unchanged and removed."""
    done: DataFilesResult = database.read_now(hugo.write, site, folder)
    return done.written, done.unchanged, done.removed


def test_a_page_is_a_file_with_its_tree(database: Database, folder: Path) -> None:
    assert write(database, folder) == (2, 0, 0)
    assert msgspec.json.decode((folder / file_name("/post/")).read_bytes()) == {
        "commentsvc": 1,
        "url": "/post/",
        "title": "Wet wood",
        "count": 2,
        "closed": False,
        "comments": [
            {
                "id": 1,
                "author": "Ann",
                "hue": 3,
                "site": "https://ann.example",
                "date": "2026-11-18T11:06:40Z",
                "html": "<p>Hello <em>you</em></p>",
                "replies": [
                    {
                        "id": 2,
                        "author": "Bo",
                        "hue": 11,
                        "date": "2026-11-18T12:06:40Z",
                        "html": "<p>Hello <em>you</em></p>",
                    }
                ],
            }
        ],
    }


def test_a_pinned_comment_comes_first(database: Database, folder: Path) -> None:
    add(database, now=NOW + HOUR, role="owner")
    database.write_now(pins.pin, 5)
    write(database, folder)
    content = msgspec.json.decode((folder / file_name("/post/")).read_bytes())
    [first, second] = [
        (each["id"], each.get("pinned"), each.get("role")) for each in content["comments"]
    ]
    assert (first, second) == ((5, True, "owner"), (1, None, None))


def test_a_comment_of_a_reader_who_signed_in_is_verified(database: Database, folder: Path) -> None:
    add(database, now=NOW + HOUR, reader_id=7)
    write(database, folder)
    content = msgspec.json.decode((folder / file_name("/post/")).read_bytes())
    assert [each.get("verified") for each in content["comments"]] == [None, True]


def test_only_what_changed_is_written(database: Database, folder: Path) -> None:
    write(database, folder)
    before = {path: (path.stat().st_ino, path.read_bytes()) for path in folder.iterdir()}
    assert write(database, folder) == (0, 2, 0)
    assert before == {path: (path.stat().st_ino, path.read_bytes()) for path in folder.iterdir()}
    decide(database, APPROVED, 3)
    assert write(database, folder) == (1, 1, 0)


def test_what_is_gone_is_gone_from_the_files(database: Database, folder: Path) -> None:
    write(database, folder)
    decide(database, DELETED, 1)
    database.write_now(retention.forget, "ann@blog.example", "Mo", NOW)
    assert write(database, folder) == (1, 0, 1)
    assert [path.name for path in folder.iterdir()] == [file_name("/post/")]
    content = msgspec.json.decode((folder / file_name("/post/")).read_bytes())
    [emptied] = content["comments"]
    assert (emptied["id"], emptied["deleted"], sorted(emptied)) == (
        1,
        True,
        ["deleted", "id", "replies"],
    )
    assert [reply["id"] for reply in emptied["replies"]] == [2]


def test_files_of_others_are_left_alone(database: Database, folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in ("mine.json", file_name("/gone/"), "notes.yaml"):
        (folder / name).write_text('{"mine": 1}')
    (folder / "folder.json").mkdir()
    (folder / "nowhere.json").symlink_to("nowhere")
    os.mkfifo(folder / "pipe.json")
    assert write(database, folder) == (2, 0, 0)
    assert len(list(folder.iterdir())) == 8


def take_away(path: Path, how: str) -> None:
    """Put something at `path` that is no file of ours."""
    path.unlink(missing_ok=True)
    if how == "file":
        path.write_text("{}")
    elif how == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")


@pytest.mark.parametrize("how", ["file", "folder", "link"])
@pytest.mark.parametrize("page", ["/other/", "/post/"])
def test_one_bad_page_never_stops_the_rest(
    database: Database, folder: Path, page: str, how: str
) -> None:
    add(database, url="/third/")
    folder.mkdir(parents=True)
    take_away(folder / file_name(page), how)
    done = database.read_now(hugo.write, "", folder)
    assert (done.written, done.removed) == (2, 0)
    [failure] = done.failures
    assert failure.startswith(f"{page}: ")
    assert "is not a file of commentsvc: move it away" in failure


def test_a_page_that_cannot_be_written_keeps_its_earlier_file(
    database: Database, folder: Path
) -> None:
    write(database, folder)
    current, former = (folder / file_name("/post/", digest) for digest in (32, FORMER_DIGEST))
    current.rename(former)
    current.with_name(f"{current.name}.part").mkdir()
    done = database.read_now(hugo.write, "", folder)
    assert done == DataFilesResult(0, 1, 0, ("/post/: Is a directory",))
    assert former.exists()


def test_a_file_that_cannot_be_removed_never_stops_the_rest(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may belong to somebody else, in a folder with the sticky bit."""
    write(database, folder)
    decide(database, DELETED, 1, 2, 4)
    bad = min(folder.iterdir())
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path == bad:
            raise PermissionError(1, "Operation not permitted")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    done = database.read_now(hugo.write, "blog", folder)
    assert done == DataFilesResult(0, 0, 1, (f"{bad.name}: Operation not permitted",))
    assert [*folder.iterdir()] == [bad]


def test_a_name_of_an_earlier_version_is_replaced(database: Database, folder: Path) -> None:
    write(database, folder)
    for path in [*folder.iterdir()]:
        path.rename(path.with_name(path.name[: -len(".json") - 24] + ".json"))
    assert {path.name for path in folder.iterdir()} == {
        file_name(url, FORMER_DIGEST) for url in ("/post/", "/other/")
    }
    assert write(database, folder) == (2, 0, 2)
    assert {path.name for path in folder.iterdir()} == {*map(file_name, ("/post/", "/other/"))}


def test_two_urls_whose_names_were_once_the_same_have_two_files(
    database: Database, folder: Path
) -> None:
    found: dict[str, str] = {}
    for number in range(1_000_000):
        url = f"/{60 * 'x'}/{number}"
        other = found.setdefault(file_name(url, FORMER_DIGEST), url)
        if other != url:
            break
    else:
        pytest.fail("32 bits are more than they seem")
    add(database, url=url)
    add(database, url=other)
    assert write(database, folder) == (4, 0, 0)


def test_an_alias_leads_to_its_page(database: Database, folder: Path) -> None:
    database.write_now(threads.move, "blog", "/other/", "/another/")
    write(database, folder)
    content = msgspec.json.decode((folder / ALIASES).read_bytes())
    assert content == {"commentsvc": 1, "aliases": {"/other/": "/another/"}}
    database.write_now(threads.remove_alias, "blog", "/other/")
    assert write(database, folder) == (0, 2, 1)


def test_the_name_of_a_file_is_legible_and_of_one_url() -> None:
    assert file_name("/posts/Wet-Wood/") == "posts-wet-wood-7f913320ae8dfcd16f228378fa1d4d23.json"
    urls = ["/", "/a", "/a/", "/A", "/a?b", "/a-b", "/%C3%A4", "/" + 90 * "x", "/" + 91 * "x"]
    names = [file_name(url) for url in urls]
    assert len({name.lower() for name in names}) == len(urls)
    assert max(map(len, names)) < 100


def test_a_blog_has_one_site(database: Database, folder: Path) -> None:
    database.write_now(site_rows.sync, ["blog", "empty", "other"])
    assert write(database, folder) == (2, 0, 0)
    add(database, site="other", url="/elsewhere/")
    with pytest.raises(DataFilesError, match="with --site; the sites are: blog, empty, other"):
        write(database, folder)
    assert write(database, folder, "other") == (1, 0, 2)
    assert database.read_now(hugo.comment_count, "blog") == 3
    with pytest.raises(UnknownSiteError):
        write(database, folder, "third")
