"""The archive: every public comment as files, which a plain file server or a disk can show."""

import errno
import functools
import gc
import http.server
import os
import re
import threading
import tracemalloc
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import feedparser
import msgspec
import pytest
from msgspec.structs import replace

from commentsvc.archive import static_pages
from commentsvc.comments.page_urls import UnknownSiteError
from commentsvc.db.connection import Transaction
from commentsvc.db.database import Database
from commentsvc.exports import hugo
from commentsvc.exports.hugo import DataFilesError, file_name
from commentsvc.feedback import reactions
from commentsvc.model import DELETED, stored_counts
from commentsvc.moderation import threads
from commentsvc.settings.schema import Site, Votes
from commentsvc.util.digest import digest
from tests.conftest import invalid_html
from tests.unit.database_fixture import HOUR, NOW, add, decide, opened, site
from tests.unit.json_ld import described, every_comment

BLOG = Site(name="blog", origins=("https://blog.example",), title="A <blog>", language="de")
CONTENT = b"a picture"
IMAGE = f"{digest(CONTENT, size=16).hex()}-3x4"
IMAGE_ROW = "INSERT INTO image (site_id, name, content, created_at) VALUES (1, ?, ?, ?)"
# Urls that differ in what file systems or programs take as the same, or as something else.
URLS = [
    "/post/", "/Post/", "/post", "/post/?a=1", "/post/?a=2", "/../etc/passwd", "/..", "/", "/con",
    "/index", "/index.html", "/a%2Fb/", "/a/b/", "/<script>/", "/ö/", "/o\u0308/", "/%C3%B6/",
    "/" + "long/" * 300, "/" + "long/" * 299 + "lonG/", "/~x/.git/config", "/a b/", "/a#b/",
]  # fmt: skip


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with opened(tmp_path) as database:
        yield database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "public/archive"


def write(database: Database, folder: Path, *sites: Site, only: str = "") -> int:
    count: int = database.read_now(static_pages.write, list(sites or (BLOG,)), folder, only)
    return count


def page(url: str, ending: str = "html") -> str:
    return f"site-blog/{file_name(url).removesuffix('.json')}.{ending}"


def everything(folder: Path) -> str:
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".css")
    return "\n".join(f"{path.name}\n{path.read_bytes().decode()}" for path in files)


class Links(HTMLParser):
    """The addresses that a page names, and its ids."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.addresses += [url for name in ("href", "src") if (url := values.get(name))]
        if values.get("id"):
            self.ids.add(str(values["id"]))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def file_server(folder: Path) -> Iterator[str]:
    """Serve the folder below which the archive is; yield its address."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def fetch(address: str) -> str:
    with urllib.request.urlopen(address, timeout=120) as answer:
        content: bytes = answer.read()
    return content.decode("utf-8", "replace")


def crawl(start: str, base: str) -> dict[str, Links]:
    """Return every page that can be reached; fail where a link or its fragment leads nowhere."""
    found: dict[str, Links] = {}
    named: set[str] = set()
    waiting = [start]
    while waiting:
        address = waiting.pop()
        if address in found:
            continue
        text = fetch(address)
        found[address] = Links(text if address.endswith(".html") else "")
        links = (urljoin(address, each) for each in found[address].addresses)
        ours = [link for link in links if link.startswith(base)]
        named.update(ours)
        waiting += [urldefrag(link).url for link in ours]
    for link in named:
        address, fragment = urldefrag(link)
        assert not fragment or fragment in found[address].ids, link
    return found


def test_a_plain_file_server_has_each_old_link(database: Database, folder: Path) -> None:
    """Ids of imported comments, our own, and each address of a page that has two."""
    add(database, title="Wet wood")
    add(database, parent=1, now=NOW + HOUR, author="Bo")
    add(database, url="/2017/moved/")
    database.write_now(threads.add_alias, "blog", "/2017/moved/", "/new/")

    def work(tx: Transaction) -> None:
        row = (1, b"1", "isso-9")
        tx.execute("INSERT INTO imported_comment VALUES (?, 1, ?, ?, 0)", row)

    database.write_now(work)
    assert write(database, folder) == 3
    with file_server(folder.parent) as root:
        base = f"{root}archive/"
        found = crawl(base + "index.html", root)
        assert fetch(base) == fetch(base + "index.html")
        ids = {"isso-9", "commentsvc-1", "commentsvc-2"}
        assert found[base + page("/post/")].ids >= ids
        other = Links(fetch(base + page("/new/")))
        to = urljoin(base + page("/new/"), other.addresses[-1])
        assert to == base + page("/2017/moved/")
        assert found[to].ids >= {"commentsvc-3"}
        for ending in ("atom", "rss"):
            assert f"{base}{page('/post/', ending)}" in found
            feed = feedparser.parse(fetch(f"{base}{page('/post/', ending)}"))
            links = [entry.link for entry in feed.entries]
            assert links[-1] == "https://blog.example/post/#commentsvc-1"


def test_each_page_is_valid_and_in_the_language_of_its_site(
    database: Database, folder: Path
) -> None:
    database.write_now(site("notes"))
    add(database, title="Wet <wood>", author='"<Ann>', author_site="https://ann.example/?a&b")
    add(database, parent=1)
    decide(database, DELETED, 1)
    add(database, site="notes", url="/<x>/?b&c")
    write(database, folder, BLOG, Site(name="notes", language="ar"))
    pages = {str(path): path.read_text() for path in folder.rglob("*.html")}
    assert len(pages) == 5
    assert not invalid_html(pages)
    german = (folder / page("/post/")).read_text()
    assert '<html lang="de" dir="ltr">' in german
    assert ">1 Kommentar<" in german
    arabic = [text for name, text in pages.items() if "site-notes" in name]
    assert all('<html lang="ar" dir="rtl">' in text for text in arabic)
    assert 'name="color-scheme" content="light dark"' in german
    assert not re.findall(r'(?:href|src|action)="/', "".join(pages.values())), "relative links"
    assert described(german)["url"] == "https://blog.example/post/"
    assert "ld+json" not in "".join(arabic), "nobody knows the address of its pages"


def test_nothing_private_is_in_any_file(database: Database, folder: Path) -> None:
    mail, avatar = "secret-mail@x.example", "5" * 32
    add(database, html="<p>Public</p>", email=mail, avatar=avatar, key="secret-key")
    add(database, status="pending", html="<p>secret-pending</p>", author="secret-author")
    add(database, status="spam", html="<p>secret-spam</p>")
    add(database, html="<p>secret-deleted</p>", author="secret-author", url="/post/")
    add(database, parent=4, html="<p>Reply</p>")
    decide(database, DELETED, 4)
    add(database, url="/quiet/", status="pending", title="secret-title")

    def work(tx: Transaction) -> None:
        network = b"secret-network"
        tx.execute("UPDATE comment SET network = ?, reasons = 'secret-reason'", (network,))
        tx.execute(IMAGE_ROW, (f"{'a' * 32}-1x1", b"secret-picture", NOW))

    database.write_now(work)
    assert write(database, folder) == 2
    text = everything(folder)
    assert "Public" in text
    assert "Reply" in text
    assert "secret" not in text
    assert "5" * 32 not in text
    assert not (folder / "images").exists()


def test_pictures_come_along_and_are_found_from_each_page(database: Database, folder: Path) -> None:
    image = f'<img src="https://c.example/sub/images/{IMAGE}.webp" alt="x" />'
    html = f'<p>{image} <a href="#up">up</a></p>'
    add(database, html=html)

    def work(tx: Transaction) -> None:
        tx.execute(IMAGE_ROW, (IMAGE, CONTENT, NOW))
        tx.execute("INSERT INTO comment_image (comment_id, image_id) VALUES (1, 1)")

    database.write_now(work)
    write(database, folder)
    text = (folder / page("/post/")).read_text()
    assert f'src="../images/{IMAGE}.webp"' in text
    assert 'href="https://blog.example/post/#up"' in text
    assert (folder / f"images/{IMAGE}.webp").read_bytes() == CONTENT


def test_no_two_pages_share_a_file_on_any_file_system(database: Database, folder: Path) -> None:
    for url in URLS:
        add(database, url=url)
    write(database, folder)
    names = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert all(len(part.encode()) < 120 for path in names for part in path.parts)
    assert all(re.fullmatch(r"[a-z0-9._-]+", part) for path in names for part in path.parts)
    assert len({str(path).casefold() for path in names}) == len(names)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    for url in URLS:
        data = msgspec.json.decode((folder / "site-blog/data" / file_name(url)).read_bytes())
        assert data["url"] == url
        assert (folder / page(url)).is_file()
    with file_server(folder) as root:
        assert len(crawl(root + "index.html", root)) > len(URLS)


def test_the_data_are_those_for_hugo(database: Database, folder: Path, tmp_path: Path) -> None:
    add(database)
    add(database, url="/2017/moved/")
    database.write_now(threads.add_alias, "blog", "/2017/moved/", "/new/")
    write(database, folder)
    database.read_now(hugo.write, "blog", tmp_path / "hugo")
    data = {path.name: path.read_bytes() for path in (folder / "site-blog/data").iterdir()}
    assert data == {path.name: path.read_bytes() for path in (tmp_path / "hugo").iterdir()}


def test_a_long_list_of_pages_has_parts(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_pages, "LISTED", 2)
    for number in range(5):
        add(database, url=f"/{number}/")
    write(database, folder)
    parts = sorted((folder / "site-blog").glob("index*.html"))
    assert [part.name for part in parts] == ["index-2.html", "index-3.html", "index.html"]
    with file_server(folder) as root:
        found = crawl(root + "index.html", root)
        assert sum(page(f"/{number}/") in "".join(found) for number in range(5)) == 5


def test_one_site_can_be_written_alone(database: Database, folder: Path) -> None:
    database.write_now(site("notes"))
    add(database)
    add(database, site="notes")
    assert write(database, folder, only="notes") == 1
    assert sorted(path.name for path in folder.glob("site-*")) == ["site-notes"]
    with pytest.raises(UnknownSiteError):
        write(database, folder, only="other")


def test_an_archive_is_replaced_and_what_others_put_there_stays(
    database: Database, folder: Path
) -> None:
    add(database)
    add(database, url="/gone/")
    write(database, folder)
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("ours")
    (folder / "CNAME").write_text("comments.example")
    decide(database, DELETED, 2)
    assert write(database, folder) == 1
    assert not (folder / page("/gone/")).exists()
    assert (folder / ".git/config").read_text() == "ours"
    assert (folder / "CNAME").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["archive"], "nothing is left over"
    if os.umask(os.umask(0o022)) == 0o022:
        assert folder.stat().st_mode & 0o777 == 0o755, "a web server of another user reads it"


@pytest.mark.parametrize("name", ["index.html", ".htaccess", static_pages.MARK])
def test_a_folder_with_other_files_is_refused_and_stays(
    database: Database, folder: Path, name: str
) -> None:
    add(database)
    folder.mkdir(parents=True)
    write(database, folder)
    other = folder.parent / "other"
    other.mkdir()
    (other / name).write_text("mine")
    with pytest.raises(DataFilesError, match="Name a new folder, or an empty one"):
        write(database, other)
    assert (other / name).read_text() == "mine"
    with pytest.raises(DataFilesError, match="not a folder"):
        write(database, other / name)


def test_an_archive_that_a_link_names_is_replaced_where_it_is(
    database: Database, folder: Path
) -> None:
    add(database)
    write(database, folder)
    link = folder.parent.parent / "link"
    link.symlink_to(folder)
    write(database, link)
    assert link.is_symlink()


def test_a_full_disk_leaves_the_earlier_archive(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(database)
    write(database, folder)
    before = everything(folder)
    add(database, url="/second/")
    put = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name.startswith("second"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return put(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write(database, folder)
    assert everything(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["archive"]


def test_a_folder_that_cannot_be_moved_stays(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one that is mounted."""
    add(database)
    write(database, folder)

    def busy(path: Path, _target: Path) -> Path:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(path))

    monkeypatch.setattr(Path, "rename", busy)
    with pytest.raises(DataFilesError, match="cannot be replaced"):
        write(database, folder)
    assert (folder / page("/post/")).exists()


def test_memory_does_not_grow_with_the_pages(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A feed of a site has some comments in memory, and a page all of its own."""
    monkeypatch.setattr(static_pages, "ENTRIES", 2)
    html = f"<p>{'x' * 20_000}</p>"

    def peak(pages: range) -> int:
        for number in pages:
            add(database, url=f"/{number}/", html=html)
        tracemalloc.start()
        database.read_now(static_pages.write, [BLOG], folder, "", lambda _comments: gc.collect())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(range(3))
    few = peak(range(3, 6))
    assert peak(range(6, 66)) < few + 600_000, "60 more pages of 20 kB"


def test_all_comments_are_described_for_search_engines(database: Database, folder: Path) -> None:
    for _ in range(3):
        add(database)
    add(database, parent=2)
    write(database, folder)
    document = described((folder / page("/post/")).read_text())
    assert len(every_comment(document)) == 4


REACTING = replace(BLOG, reactions=("🎉", "👍"))


@pytest.mark.parametrize(
    ("votes", "shown", "hidden"),
    [
        ("both", [("▲ 7", 1)], ["👎"]),
        ("reactions", [("🎉</span> 3", 2), ("👍</span> 2", 1)], ["▲", "👎"]),
        ("off", [("🎉</span> 3", 1)], ["▲", "👍", "👎"]),
    ],
)
def test_votes_and_reactions_stay_as_they_were_shown(
    database: Database, folder: Path, votes: Votes, shown: list[tuple[str, int]], hidden: list[str]
) -> None:
    add(database)
    given = stored_counts({"👎": 9, "👍": 2, "🎉": 3})
    database.write_now(
        lambda tx: tx.execute("UPDATE comment SET votes = 7, reactions = ?", (given,))
    )
    database.write_now(reactions.add_counts, 1, {"🎉": 3, "👎": 1})
    arguments = ([REACTING], folder, "", lambda _comments: None, votes)
    database.read_now(static_pages.write, *arguments)
    html = (folder / page("/post/")).read_text()
    assert not invalid_html({"archive": html})
    assert [html.count(text) for text, _ in shown] == [number for _, number in shown]
    assert [text for text in hidden if text in html] == []
    described_votes = [each.get("interactionStatistic") for each in every_comment(described(html))]
    assert (described_votes == [None]) == (votes != "both")
    data = (folder / page("/post/", "json").replace("/", "/data/")).read_text()
    assert "votes" not in data, "data files change with the comments alone"


def test_the_feeds_are_well_formed_whatever_was_written(database: Database, folder: Path) -> None:
    add(database, author="\x01<&", html="<p>]]&gt;\x0b</p>", title="\ufffe&")
    write(database, folder)
    for path in (*folder.rglob("*.atom"), *folder.rglob("*.rss")):
        ET.fromstring(path.read_bytes())
