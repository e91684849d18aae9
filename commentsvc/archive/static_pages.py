"""The archive: all public comments as files that any web server can serve, without the service.

    index.html                       the sites
    site-NAME/index.html             the pages of a site, and further parts of this list
    site-NAME/feed.atom, feed.rss    the newest comments of a site
    site-NAME/PAGE.html, .atom, .rss the comments of a page, with the ids that links lead to
    site-NAME/data/PAGE.json         the same as data: the files for Hugo, see `exports.hugo`
    images/, static/                 pictures in comments; stylesheets

PAGE is a name of `hugo.file_name`: lower case, short, and different for each url. An old address of
a page has a file that leads to the new one. All links between the files are relative.

The archive is written beside its folder and then takes its place, so that nobody ever reads half of
one. What others have put into the folder, such as `.git`, stays. One thread is in memory at a time.
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from commentsvc.api import feeds
from commentsvc.api.feeds import ENTRIES, Source
from commentsvc.comments import queries
from commentsvc.comments.page_urls import Blog, Sites
from commentsvc.comments.queries import DeletedComment
from commentsvc.comments.structured_data import DescribedPage, json_ld
from commentsvc.comments.tree import Branch
from commentsvc.db.connection import Snapshot
from commentsvc.db.query import Select, literal
from commentsvc.db.schema.comments import (
    CommentImageTable,
    CommentTable,
    ImageTable,
    SiteTable,
)
from commentsvc.exports import hugo
from commentsvc.exports.contents import check_site
from commentsvc.exports.hugo import DataFilesError, PublicComment, PublicThread, file_name
from commentsvc.feedback import reactions
from commentsvc.markup.markdown import absolute, with_images_in
from commentsvc.model import APPROVED, reaction_counts
from commentsvc.pages.embed import TEMPLATES
from commentsvc.settings.schema import Site, Votes
from commentsvc.util.i18n import Language, find_language
from commentsvc.util.timestamps import rfc3339

MARK: Final = "commentsvc-archive.json"  # only a folder with this file is replaced
MARKED: Final = b'{"commentsvc_archive":1}\n'
LISTED: Final = 1_000  # pages in each part of a site's list
STYLES: Final = ("comments.css", "form.css", "page.css", "rich.css")
FEEDS: Final = (("atom", feeds.atom), ("rss", feeds.rss))
# The names of what the archive has in its folder.
_OURS = re.compile(r"index\.html|static|images|site-[a-z0-9-]+|" + re.escape(MARK)).fullmatch


class ArchivedComment(msgspec.Struct, frozen=True):
    """A comment as the template of a thread and `json_ld` need it."""

    id: int
    parent: int | None
    author: str
    site: str
    role: str
    verified: bool
    permalink: str
    published: str
    edited: str | None
    html: str
    anchor: str
    pinned: bool
    lang: str
    votes: int
    reactions: dict[str, int]


class Listed(NamedTuple):
    """A line of a list of pages or sites."""

    href: str
    title: str
    comments: int


def write(
    snapshot: Snapshot,
    sites: list[Site],
    target: Path,
    site: str = "",
    advance: Callable[[int], object] = lambda _comments: None,
    votes: Votes = "off",
) -> int:
    """Write the comments of a site, or of all for "", to the folder `target`; return their number.

    `sites` and `votes` are those of the settings. `advance` is called with how many comments were
    written. Raise DataFilesError, UnknownSiteError or OSError; then `target` is as it was.
    """
    check_site(snapshot, site)
    target = target.resolve()
    _refuse_others(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".part", dir=target.parent))
    try:
        made.chmod(0o777 & ~_umask())
        count = _Archive(snapshot, sites, made, advance, votes).write(site)
        _replace(target, made)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return count


def comment_count(snapshot: Snapshot, site: str) -> int:
    """Return how many comments will be written."""
    return sum(count for name, count in _sites(snapshot) if site in ("", name))


def _sites(snapshot: Snapshot) -> list[tuple[str, int]]:
    rows = SiteTable.select(SiteTable.name, SiteTable.count).where(SiteTable.count > 0)
    return [(name, count) for name, count in snapshot.query(rows.order_by(SiteTable.name))]


def _images(site: str) -> Select:
    return (
        ImageTable.select(ImageTable.name, ImageTable.content)
        .join(SiteTable)
        .where(
            SiteTable.name == site,
            ImageTable.id.in_(
                CommentImageTable.select(CommentImageTable.image)
                .join(CommentTable, on=CommentTable.id == CommentImageTable.comment)
                .where(CommentTable.status == literal(APPROVED))
            ),
        )
    )


def _umask() -> int:
    """Return the umask of this process without changing it: other threads make files."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("Umask:")[2].split()[0], 8)


def _refuse_others(target: Path) -> None:
    """Raise DataFilesError if the folder has files, and none that says that it is an archive."""
    if not target.exists():
        return
    if not target.is_dir():
        raise DataFilesError(f"{target} is not a folder. Name another one.")
    if (target / MARK).is_file() and (target / MARK).read_bytes() == MARKED:
        return
    if any(target.iterdir()):
        raise DataFilesError(
            f"{target} has files, but not those of an archive. Name a new folder, or an empty one."
        )


def _replace(target: Path, made: Path) -> None:
    """Let the folder `made` take the place of `target`, and keep what others put into that."""
    former = made.with_suffix(".old")
    if not target.exists():
        made.rename(target)
        return
    try:
        target.rename(former)
    except OSError as error:
        raise DataFilesError(
            f"{target} cannot be replaced: {error.strerror}. Name a folder below it."
        ) from error
    try:
        made.rename(target)
    except OSError:
        former.rename(target)
        raise
    for path in former.iterdir():
        if not _OURS(path.name):
            path.rename(target / path.name)
    shutil.rmtree(former)


class _Archive:
    """The files of an archive, in a new folder."""

    def __init__(
        self,
        snapshot: Snapshot,
        sites: list[Site],
        folder: Path,
        advance: Callable[[int], object],
        votes: Votes,
    ) -> None:
        self._snapshot = snapshot
        self._settings = {site.name: site for site in sites}
        self._votes = votes
        self._folder = folder
        self._advance = advance

    def write(self, only: str) -> int:
        """Write all files; return the number of comments."""
        static = files("commentsvc") / "static"
        for name in STYLES:
            self._put(f"static/{name}", (static / name).read_bytes())
        listed = []
        for name, _ in _sites(self._snapshot):
            if only in ("", name):
                site = self._settings.get(name) or Site(name=name)
                count = self._site(site)
                listed.append(Listed(f"site-{name}/index.html", site.title or name, count))
        first = next(iter(self._settings.values()), Site())
        language = find_language(first.language)
        self._page("index.html", "archive_index.html", language, listed=listed, up="")
        self._put(MARK, MARKED)
        return sum(each.comments for each in listed)

    def _site(self, site: Site) -> int:
        """Write the files of a site; return the number of its comments."""
        folder, language = f"site-{site.name}", find_language(site.language)
        blogs = Sites([site]).blogs(site.name)
        index = _Index(self._page, folder, language, blogs)
        count = 0
        for thread in hugo.public_threads(self._snapshot, site.name):
            name = file_name(thread.url).removesuffix(".json")
            branches = hugo.tree(self._snapshot, thread)
            self._put(f"{folder}/data/{name}.json", hugo.encoded(thread, branches))
            self._thread(f"{folder}/{name}.html", site, thread, branches, blogs)
            self._feeds(f"{folder}/{name}", site, thread.url)
            index.add(Listed(f"{name}.html", thread.title or thread.url, thread.comments))
            count += thread.comments
            self._advance(thread.comments)
        index.finish()
        self._feeds(f"{folder}/feed", site, "")
        moved = hugo.aliases(self._snapshot, site.name)
        if moved:
            self._put(f"{folder}/data/{hugo.ALIASES}", hugo.encoded_aliases(moved))
        for alias, url in moved.items():
            href = file_name(url).replace(".json", ".html")
            self._page(
                f"{folder}/{file_name(alias).removesuffix('.json')}.html",
                "archive_moved.html",
                language,
                blogs=blogs,
                href=href,
                address=site.origin + url,
            )
        for name, content in self._snapshot.each(_images(site.name)):
            self._put(f"images/{name}.webp", bytes(content))
        return count

    def _thread(
        self,
        name: str,
        site: Site,
        thread: PublicThread,
        tree: list[Branch[PublicComment]],
        blogs: list[Blog],
    ) -> None:
        address = site.origin + thread.url
        branches = [*self._archived(tree, site, thread)]
        about = DescribedPage(address, thread.title, thread.comments, thread.likes, thread.reposts)
        self._page(
            name,
            "archived.html",
            find_language(site.language),
            stem=Path(name).stem,
            blogs=blogs,
            title=thread.title,
            back=address,
            branches=branches,
            structured=json_ld(about, branches) if site.origin else "",
            reactions=_given(site, reactions.counts(self._snapshot, thread.id)),
            archived=True,
            count=thread.comments,
            likes=thread.likes,
            reposts=thread.reposts,
            closed=True,
        )

    def _archived(
        self, branches: Iterable[Branch[PublicComment]], site: Site, thread: PublicThread
    ) -> Iterator[Branch[ArchivedComment]]:
        address = site.origin + thread.url
        for comment, replies in branches:
            below = [*self._archived(replies, site, thread)]
            if isinstance(comment, DeletedComment):
                yield comment, below
                continue
            emoji = reaction_counts(comment.reactions) if self._votes == "reactions" else {}
            shown = ArchivedComment(
                comment.id,
                comment.parent,
                comment.author,
                comment.site,
                comment.role,
                comment.reader_id is not None,
                comment.permalink,
                rfc3339(comment.published_at),
                rfc3339(comment.edited_at) if comment.edited_at else None,
                with_images_in(absolute(comment.html, address, keeps_notes=True), "../images/"),
                comment.anchor,
                comment.id == thread.pinned,
                comment.lang,
                comment.votes if self._votes in ("up", "both") else 0,
                _given(site, emoji),
            )
            yield shown, below

    def _feeds(self, name: str, site: Site, url: str) -> None:
        entries = queries.latest(self._snapshot, site.name, url or None, ENTRIES)
        title = site.title or site.name
        source = Source(site.name, title, site.origin, url, language=site.language)
        feed = feeds.make_feed(source, entries)
        for ending, render in FEEDS:
            self._put(f"{name}.{ending}", render(feed))

    def _page(self, path: str, template: str, language: Language, **values: object) -> None:
        self._put(path, TEMPLATES.render(template, language, **values).encode())

    def _put(self, name: str, content: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class _Index:
    """Writes the list of a site's pages in parts, `index.html`, `index-2.html` and so on."""

    def __init__(
        self,
        put: Callable[..., None],
        folder: str,
        language: Language,
        blogs: list[Blog],
    ) -> None:
        self._put, self._folder, self._language, self._blogs = put, folder, language, blogs
        self._number = 1
        self._listed: list[Listed] = []

    def add(self, page: Listed) -> None:
        """Add a page; write the part before it if that is full."""
        if len(self._listed) == LISTED:
            self._write(has_next=True)
            self._number += 1
            self._listed.clear()
        self._listed.append(page)

    def finish(self) -> None:
        """Write the last part."""
        self._write(has_next=False)

    def _write(self, *, has_next: bool) -> None:
        near = [number for number in (self._number - 1, self._number + has_next) if number > 0]
        self._put(
            f"{self._folder}/{_part(self._number)}",
            "archive_index.html",
            self._language,
            blogs=self._blogs,
            listed=self._listed,
            around=[(number, _part(number)) for number in near if number != self._number],
        )


def _part(number: int) -> str:
    return "index.html" if number == 1 else f"index-{number}.html"


def _given(site: Site, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers by emoji of those that a site offers, if some readers chose them."""
    return {emoji: numbers[emoji] for emoji in site.reactions if numbers.get(emoji)}
