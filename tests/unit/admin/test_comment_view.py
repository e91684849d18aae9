"""What the pages show of a comment, and that cached parts are never stale."""

from typing import Any

import msgspec
import pytest

from commentsvc.admin import comment_view
from commentsvc.admin.comment_view import Viewer
from commentsvc.model import PENDING, Comment, Entry
from commentsvc.moderation.lists import ParentQuote, StoredVerdict
from commentsvc.util.timestamps import DAY_MS

NOW = 1_795_000_000_000  # ms
ORIGINS = {"blog": "https://blog.example"}


def entry(**fields: object) -> Entry:
    """Return a new object for a pending comment on the page /a/ of the site blog."""
    comment = Comment(
        id=5,
        thread_id=1,
        parent_id=None,
        status=PENDING,
        author="Ann",
        email="",
        avatar="",
        site="",
        source="Hello",
        html="<p>Hello</p>",
        created_at=NOW - 90_000,
        published_at=None,
        edited_at=None,
        votes=0,
    )
    return Entry(msgspec.structs.replace(comment, **fields), "blog", "/a/", "")


def html(shown: Entry, now: int = NOW, verdict: StoredVerdict | None = None, **how: Any) -> str:
    """Return a card; `how` has further fields of its Viewer (hence Any)."""
    verdicts = {} if verdict is None else {5: verdict}
    parents = {3: ParentQuote(3, "Jo", "Hi")}
    viewer = Viewer(
        now=now,
        origins=ORIGINS,
        verdicts=verdicts,
        parents=parents,
        reports={},
        spam_from=9,
        longest=8_000,
        **how,
    )
    return comment_view.html(viewer.view(shown))


def test_a_card_that_is_as_it_was_is_not_made_again() -> None:
    assert html(entry()) is html(entry(), NOW + 20_000)


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("author", "Bob <b>", "Bob &lt;b&gt;"),
        ("html", "<p>Bye</p>", "<p>Bye</p>"),
        ("status", "spam", "Not spam: approve"),
        ("edited_at", NOW - DAY_MS, "· edited <time"),
        ("parent_id", 3, "comment?id=3"),
        ("email", "ann@mail.example", "ann@mail.example"),
        ("site", "https://ann.example", "https://ann.example"),
    ],
)
def test_what_changes_is_shown_at_once(field: str, value: object, text: str) -> None:
    assert text not in html(entry())
    assert text in html(entry(**{field: value}))


def test_ages_go_on() -> None:
    assert ">1 min ago<" in html(entry())
    assert ">2 min ago<" in html(entry(), NOW + 60_000)
    assert ">yesterday<" in html(entry(edited_at=NOW - DAY_MS))


def test_a_card_tells_what_its_list_wants_to_know() -> None:
    assert " checked" not in html(entry())
    assert " checked" in html(entry(), ticked=True)
    assert 'class="tag pending">waiting' in html(entry(), found=True)
    assert "Spam score 3 of 9<" in html(entry(), verdict=StoredVerdict(3, ("many links",)))
    assert "Spam score 12<" in html(entry(), verdict=StoredVerdict(12, ("many links",)))


def test_a_page_is_linked_where_its_blog_is_known() -> None:
    assert 'href="https://blog.example/a/#comments?moderate"' in html(entry())
    viewer = Viewer(
        now=NOW,
        origins={},
        verdicts={},
        parents={},
        reports={},
        spam_from=9,
        longest=9,
        several=True,
    )
    elsewhere = viewer.view(entry())
    assert 'href="https' not in comment_view.html(elsewhere)
    assert "<bdi>/a/</bdi> · blog" in " ".join(comment_view.html(elsewhere).split())
