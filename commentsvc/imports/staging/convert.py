"""The conversion of parsed comments for the staging database, one comment at a time."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from commentsvc.comments.submission import avatar, is_email, is_site, with_plain_scheme
from commentsvc.imports.records import SHORT_LIMIT, TEXT_LIMIT, ImportedComment
from commentsvc.imports.staging.authors import AuthorRules
from commentsvc.markup import html_to_markdown, markdown
from commentsvc.markup.html_to_markdown import CommentText
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM, stored_counts
from commentsvc.spam.reasons import said
from commentsvc.util.text import one_line

KEY_BYTES: Final = 16  # size of the digest that identifies a comment of a source
ID_BYTES: Final = 5  # of them from an id that is a number
ID_DIGITS: Final = 20  # longer ids are not read as numbers
MOST_VOTES: Final = 2**31
AUTHORS: Final = 10_000  # whose checks are remembered
_NO_SITES: Final = ("http://", "https://")  # what stood in the empty field of many forms
ANONYMOUS: Final = "Anonymous"


class ConvertedComment(NamedTuple):
    """A converted comment. `dropped` is why it is not stored, "" if it is.

    `key` is a digest that identifies it; `row` has the values of `reading.COLUMNS`.
    `is_html` is as in `imported_comment`; `notes` are for the report.
    """

    dropped: str
    status: str
    key: bytes
    row: tuple[Any, ...]  # Any: as the values of a row
    is_html: bool
    notes: list[str]


class _Whose(NamedTuple):
    """The author of an imported comment; a moderator has a `role` and a `moderator_id`.

    `reasons` is for moderators; `doubt` is why the comment has to wait, "" if it need not.
    """

    name: str
    email: str
    avatar: str
    site: str
    role: str
    moderator_id: int | None
    reasons: str
    doubt: str = ""


_NOBODY: Final = _Whose("", "", "", "", "", None, "")
_NO_TEXT: Final = CommentText("", "", kept=False)


class Converter:
    """Converts comments of the format `source`; `statuses` are those to be stored."""

    def __init__(self, source: str, statuses: Sequence[str], authors: AuthorRules) -> None:
        self._source = source
        self._statuses = frozenset(statuses)
        self._authors = authors
        self._known: dict[tuple[str, ...], tuple[_Whose, list[str]]] = {}  # checked authors

    def convert(self, comment: ImportedComment, created: int) -> ConvertedComment:
        """Return the converted comment, which was `created` at that time (Unix milliseconds)."""
        key = self._key(comment)
        dropped = self._dropped(comment)
        text = _NO_TEXT
        if not dropped:
            text = (
                _our_text(comment)
                if comment.ours
                else html_to_markdown.read(comment.text, comment.markup)
            )
            dropped = "" if text.source or comment.ours else "it has no text"
        if dropped:  # an empty comment may be needed for replies
            row = _row((created, None, None, 0))
            return ConvertedComment(dropped, DELETED, key, row, is_html=False, notes=[])
        who, notes = self._author(comment)
        status = PENDING if who.doubt and comment.status == APPROVED else comment.status
        published = comment.published
        if not comment.ours and status != APPROVED:
            published = None
        elif published is None and status == APPROVED:
            published = created
        if comment.note:
            notes = [*notes, comment.note]
        votes = max(-MOST_VOTES, min(comment.votes, MOST_VOTES))
        numbers = (created, published, comment.edited, votes)
        reactions = stored_counts(comment.reactions)
        row = _row(numbers, who, text, comment.permalink, comment.lang, reactions)
        return ConvertedComment("", status, key, row, text.kept, notes)

    def _key(self, comment: ImportedComment) -> bytes:
        """Return the digest that identifies a comment, without an id by its content.

        It begins with the id if that is a number: comments of one time are then neighbours in the
        index of keys, and so are inserted faster.
        """
        identity = f"{self._source}\0{comment.identity}"
        if not comment.id:
            identity = "\0".join((identity, comment.page, comment.author, comment.text))
        key = hashlib.blake2b(identity.encode(errors="replace"), digest_size=KEY_BYTES).digest()
        if comment.id.isdecimal() and len(comment.id) < ID_DIGITS:
            return (int(comment.id) % 256**ID_BYTES).to_bytes(ID_BYTES) + key[ID_BYTES:]
        return key

    def _dropped(self, comment: ImportedComment) -> str:
        """Return why `comment` is not stored, apart from its text; "" if it is."""
        if comment.drop or (comment.ours and comment.status == DELETED):
            return comment.drop  # deletions of our own comments can be undone
        if comment.status not in self._statuses:
            return f"it is {comment.status}, which --status leaves out"
        if len(comment.text) > TEXT_LIMIT and not comment.ours:
            return f"its text is longer than {TEXT_LIMIT:,} characters"
        return ""

    def _author(self, comment: ImportedComment) -> tuple[_Whose, list[str]]:
        """Return the author of a comment, after the check of protected names, and the notes."""
        profile = self._authors.moderator(comment)
        if profile is not None and not comment.role:
            shown = (profile.author, profile.email, avatar(profile.email), profile.site)
            return _Whose(*shown, profile.role, profile.id, comment.reasons), []
        if comment.ours:
            author = self._our_author(comment)
            return author, _doubts(author)
        who = (comment.author, comment.email, comment.site, comment.avatar, comment.status)
        if (known := self._known.get(who)) is None:
            if len(self._known) >= AUTHORS:
                self._known.clear()
            known = self._known[who] = self._their_author(comment)
        return known

    def _our_author(self, comment: ImportedComment) -> _Whose:
        shown = (comment.author, comment.email, comment.avatar, comment.site)
        owner = self._authors.owner(comment)
        doubt = ""
        if owner is None and not comment.is_decided and comment.status == APPROVED:
            doubt = self._authors.doubt(*shown[:3], comment.reader)
        if doubt:
            reasons = "\n".join(filter(None, (comment.reasons, doubt)))
            return _Whose(*shown, "", None, reasons, doubt)
        return _Whose(*shown, comment.role, owner.id if owner else None, comment.reasons)

    def _their_author(self, comment: ImportedComment) -> tuple[_Whose, list[str]]:
        notes: list[str] = []
        email, site = comment.email.strip(), comment.site.strip()
        if email and not is_email(email):
            notes.append("its email address is not valid, and is not stored")
            email = ""
        if site.lower() in _NO_SITES:
            site = ""
        elif site and "://" not in site[:9]:
            site = f"http://{site}"
        site = with_plain_scheme(site)
        if site and not is_site(site):
            notes.append("the author's web site is no http address, and is not stored")
            site = ""
        name = one_line(comment.author)
        if len(name) > SHORT_LIMIT:
            notes.append(f"the author's name is cut to {SHORT_LIMIT} characters")
        name, digest = name[:SHORT_LIMIT] or ANONYMOUS, comment.avatar
        if email:
            digest = avatar(email)
        doubt = "" if comment.status == SPAM else self._authors.doubt(name, email, digest)
        author = _Whose(name, email, digest, site, "", None, doubt, doubt)
        return author, notes + _doubts(author)


def _doubts(author: _Whose) -> list[str]:
    """Return the notes about an author whose comment has to wait."""
    if not author.doubt:
        return []
    return [f"it {said(author.doubt).text}: it waits for a moderator"]


def _our_text(comment: ImportedComment) -> CommentText:
    """Return the text of a comment of our own export, which was checked when it was written."""
    return CommentText(comment.text, markdown.clean(comment.html), comment.markup == "html")


def _row(
    numbers: tuple[int, int | None, int | None, int],
    who: _Whose = _NOBODY,
    text: CommentText = _NO_TEXT,
    permalink: str = "",
    lang: str = "",
    reactions: str = "",
) -> tuple[object, ...]:
    """Return the values of a comment's columns: see `reading.COLUMNS`.

    `numbers` are when it was created, published and edited, and the sum of its votes.
    """
    return (
        *numbers,
        who.role,
        who.moderator_id,
        who.name,
        who.email,
        who.avatar,
        who.site,
        text.source,
        text.html,
        who.reasons,
        permalink,
        lang,
        reactions,
    )
