"""The queue: lists, decisions, and undoing them."""

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from commentsvc.admin import review_queue
from commentsvc.admin.review_queue import MOST
from commentsvc.comments import search
from commentsvc.db.connection import Snapshot
from commentsvc.feedback import reports
from commentsvc.feedback.reports import Reason
from commentsvc.model import AUTHOR, CLASSIFIER
from commentsvc.moderation import changes, profiles, statements
from tests.unit.admin_client import Seat, header, seated, text
from tests.unit.app_fixture import NOW, Served, served
from tests.unit.database_fixture import add
from tests.unit.moderation.test_notices import WITH as WITH_NOTICES

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'


def submit(service: Served, **changes: object) -> int:
    """Submit a comment that stays pending; return its id."""
    changes = {"status": "pending"} | changes
    return add(service.database, now=int(NOW * 1_000) - 3_600_000, **changes).comment.id


def report(service: Served, number: int) -> None:
    service.database.write_now(reports.report, number, "a-random-word", int(NOW * 1_000))


def statuses(service: Served) -> dict[int, str]:
    return {entry.comment.id: entry.comment.status for entry in service.stored()}


def listed(html: str) -> list[int]:
    return [
        int(number) for number in re.findall(r'<article class="card comment" id="c(\d+)"', html)
    ]


def test_a_flood_of_reads_holds_up_neither_submissions_nor_moderators(service: Served) -> None:
    """There are many more long reads than readers, and none ends before the others are answered."""
    begun, go_on = threading.Event(), threading.Event()

    def long(_: Snapshot) -> bool:
        begun.set()
        return go_on.wait(120)

    async def flood() -> None:
        await asyncio.gather(*(service.database.read_for_public(long) for _ in range(50)))

    attack = threading.Thread(target=asyncio.run, args=(flood(),))
    attack.start()
    try:
        assert begun.wait(120)
        assert service.submit("In the midst of it").status == 201
        assert seated(service).get("queue").status == 200
    finally:
        go_on.set()
        attack.join()


def test_the_queue_shows_what_waits_the_newest_first(service: Served, seat: Seat) -> None:
    ids = [submit(service, source=f"Comment {n}", author=f"Author {n}") for n in range(3)]
    submit(service, status="approved")
    html = text(seat.get("queue"))
    assert listed(html) == ids[::-1]
    assert "1 h ago" in html
    assert 'href="https://blog.example/post/#comments?moderate"' in html


def test_an_empty_list_has_a_kind_word(seat: Seat) -> None:
    assert "Nothing is waiting for you" in text(seat.get("queue"))
    assert "No spam" in text(seat.get("comments?status=spam"))
    assert "No comment is published yet" in text(seat.get("comments"))
    assert "No deleted comments" in text(seat.get("comments?status=deleted"))
    assert "No comments found" in text(seat.get("comments?q=walrus"))


@pytest.mark.parametrize(
    ("verb", "status"), [("approve", "approved"), ("spam", "spam"), ("delete", "deleted")]
)
def test_a_button_decides_on_its_comment_alone_and_undo_takes_it_back(
    service: Served, seat: Seat, verb: str, status: str
) -> None:
    first, second = submit(service), submit(service)
    html = text(seat.get("queue"))
    assert f'name="one" value="{verb}.{second}"' in html
    answer = seat.send("decide", one=f"{verb}.{second}", id=[first], back="queue?site=blog")
    assert answer.status == 303
    assert statuses(service) == {first: "pending", second: status}
    assert header(answer, "Location") == f"queue?site=blog&done={status}.1.0.1"
    html = text(seat.get(header(answer, "Location")))
    assert "1 comment " in html
    act = re.search(r'name="act" value="(\d+)"', html)
    assert act
    answer = seat.send("undo", act=act[1], back="queue?site=blog")
    assert statuses(service) == {first: "pending", second: "pending"}
    location, _, comment = header(answer, "Location").partition("#")
    assert comment == f"c{second}"
    html = text(seat.get(location))
    assert "1 comment restored." in html
    assert 'name="act"' not in html


def test_many_are_decided_at_once_and_undone_as_one(service: Served, seat: Seat) -> None:
    ids = [submit(service) for _ in range(5)]
    answer = seat.send("decide", all="spam", id=ids[:4], back="queue")
    assert list(statuses(service).values()).count("spam") == 4
    assert "4 comments marked as spam" in text(seat.get(header(answer, "Location")))
    seat.send("undo", act=1, back="queue")
    assert set(statuses(service).values()) == {"pending"}


def test_what_somebody_else_decided_meanwhile_is_told(service: Served, seat: Seat) -> None:
    first, second = submit(service), submit(service)
    seat.send("decide", one=f"delete.{first}", back="queue")
    answer = seat.send("decide", all="approve", id=[first, second], back="queue")
    assert statuses(service) == {first: "deleted", second: "approved"}
    html = text(seat.get(header(answer, "Location")))
    assert "1 comment approved." in html
    assert "1 comment left as it was" in html
    assert "<bdi>Ann</bdi>: “deleted” by ann, just now" in html


def seen(html: str) -> str:
    found = re.search(r'name="seen" value="(\d+)"', html)
    assert found
    return found[1]


@pytest.mark.parametrize("page", ["queue", "comment?id=1"])
@pytest.mark.parametrize("verb", ["approve", "spam", "delete"])
def test_nobody_overrules_a_decision_that_they_have_not_seen(
    service: Served, seat: Seat, page: str, verb: str
) -> None:
    """Regression: who clicked "Spam" on an old page took an approved comment away from readers."""
    number, other = submit(service), submit(service)
    known = seen(text(seat.get(page)))
    bob = seated(service, "bob")
    bob.send("decide", one=f"approve.{number}", seen=seen(text(bob.get("queue"))), back="queue")
    answer = seat.send("decide", all=verb, id=[number, other], seen=known, back="queue")
    assert statuses(service)[number] == "approved"
    assert statuses(service)[other] != "pending"
    html = text(seat.get(header(answer, "Location")))
    assert "1 comment left as it was" in html
    assert "<bdi>Ann</bdi>: “published” by bob, just now" in html
    known = seen(text(seat.get(f"comment?id={number}")))
    seat.send("decide", one=f"delete.{number}", seen=known, back="queue")
    assert statuses(service)[number] == "deleted", "now it was seen"


def test_ones_own_decisions_and_those_of_programs_may_be_changed_at_once(
    service: Served, seat: Seat
) -> None:
    first, second = submit(service), submit(service)
    known = seen(text(seat.get("queue")))
    seat.send("decide", one=f"approve.{first}", seen=known, back="queue")
    service.database.write_now(changes.change, [second], "spam", CLASSIFIER, int(NOW * 1_000))
    seat.send("decide", all="delete", id=[first, second], seen=known, back="queue")
    assert statuses(service) == {first: "deleted", second: "deleted"}


def test_a_text_that_its_author_changed_meanwhile_is_not_approved_unread(
    service: Served, seat: Seat
) -> None:
    number = submit(service)
    known = seen(text(seat.get("queue")))
    service.database.write_now(changes.edit, number, "Buy oil!", AUTHOR, int(NOW * 1_000))
    answer = seat.send("decide", one=f"approve.{number}", seen=known, back="queue")
    assert statuses(service) == {number: "pending"}
    html = text(seat.get(header(answer, "Location")))
    assert "the text was changed just now. Please read it again." in html


def test_what_happened_to_comments_of_other_sites_is_not_told(service: Served) -> None:
    number = submit(service, author="Secret")
    page = f"queue?done=approved.0.1.0&left={number}"
    assert "<bdi>Secret</bdi>: “waiting”" in text(seated(service, "bob").get(page))
    limited = seated(service, "lea")
    service.database.write_now(profiles.assign, "lea", "moderator", ["notes"])
    assert "Secret" not in text(limited.get(page))
    assert limited.get("queue?done=approved.0.1.0&left=x.-1..99999999999999999999").status == 200


def test_reported_comments_that_are_kept_are_no_failure(service: Served, seat: Seat) -> None:
    """Regression: a bulk approval said that another moderator had decided on them."""
    reported, waiting = submit(service, status="approved"), submit(service)
    report(service, reported)
    assert 'Queue <span class="number">2</span>' in text(seat.get("threads"))
    answer = seat.send("decide", all="approve", id=[reported, waiting], back="queue")
    html = text(seat.get(header(answer, "Location")))
    assert "1 comment approved." in html
    assert "1 reported comment stays as it is." in html
    assert "left as" not in html
    assert 'Queue <span class="number">' not in html


def test_the_queue_is_filtered_and_ordered(service: Served, seat: Seat) -> None:
    first = submit(service, author="Rosa", url="/a/")
    second = submit(service, author="Jo", url="/b/", score=8, reasons="links +5 4")
    third = submit(service, author="Rosa", url="/c/", status="approved")
    report(service, third)
    for query, ids in (
        ("", [third, second, first]),
        ("order=oldest", [third, first, second]),
        ("author=ros", [third, first]),
        ("page=%2FA", [first]),
        ("page=/b/", [second]),
        ("score=8", [second]),
        ("score=x", [third, second, first]),
        ("only=reported", [third]),
        ("only=reported&author=jo", []),
        ("site=notes", []),
    ):
        html = text(seat.get(f"queue?{query}"))
        assert listed(html) == ids, query
        back = re.search(r'name="back" value="([^"]+)"', html)
        if back:
            again = back[1].replace("&amp;", "&")
            assert listed(text(seat.get(again))) == ids, "a decision comes back to the same list"
    assert "No comment fits the filter" in text(seat.get("queue?author=nobody"))


def test_select_all_selects_what_the_filter_shows(service: Served, seat: Seat) -> None:
    ids = [submit(service, author=("Rosa", "Jo")[n % 2]) for n in range(2 * MOST + 4)]
    html = text(seat.get("queue?order=oldest&author=rosa&tick=every"))
    assert sorted(listed(html) + others(html)) == ids[::2]
    assert others(html) == ids[::2][-2:]


def test_what_was_deleted_is_restored_to_what_it_was(service: Served, seat: Seat) -> None:
    number = submit(service)
    seat.send("decide", one=f"approve.{number}", back="queue")
    seat.send("decide", one=f"delete.{number}", back="queue")
    html = text(seat.get("comments?status=deleted"))
    assert f'value="restore.{number}"' in html
    assert "approve." not in html
    seat.send("decide", one=f"restore.{number}", back="comments?status=deleted")
    assert statuses(service) == {number: "approved"}


def test_a_decision_purges_what_readers_see(service: Served, seat: Seat) -> None:
    number = submit(service)
    service.purged.clear()
    seat.send("decide", one=f"approve.{number}", back="queue")
    assert set(service.purged) == {"thread:blog:/post/", "site:blog"}


def test_nothing_ticked_changes_nothing(service: Served, seat: Seat) -> None:
    submit(service)
    answer = seat.send("decide", all="delete", back="queue")
    assert header(answer, "Location") == "queue"
    assert set(statuses(service).values()) == {"pending"}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"one": "publish.1"},
        {"one": "approve.x"},
        {"one": "approve.-1"},
        {"one": f"approve.{10**19}"},
        {"all": "approve", "id": ["1", "x"]},
        {"all": "approved", "id": "1"},
        {"all": "", "id": "1"},
        {"all": "approve", "others": "1 x"},
    ],
)
def test_what_is_no_decision_is_refused(
    service: Served, seat: Seat, fields: dict[str, object]
) -> None:
    number = submit(service)
    answer = seat.send("decide", **fields)
    assert answer.status == 400
    assert "Open the page again" in text(answer)
    assert statuses(service) == {number: "pending"}


def test_unknown_comments_and_acts_are_told(service: Served, seat: Seat) -> None:
    assert seat.send("decide", one="approve.77", back="queue").status == 404
    assert seat.send("decide", one="restore.77", back="queue").status == 404
    assert seat.send("undo", act="77", back="queue").status == 409
    assert seat.send("undo", act="x", back="queue").status == 400
    assert seat.send("decide", all="spam", id=[77, submit(service)], back="queue").status == 404
    assert set(statuses(service).values()) == {"pending"}


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "../static", ""])
def test_a_decision_leads_to_no_other_site(service: Served, seat: Seat, back: str) -> None:
    answer = seat.send("decide", one=f"approve.{submit(service)}", back=back)
    assert header(answer, "Location").startswith("queue?done=")


def test_only_ones_own_last_act_is_offered_to_be_undone(service: Served, seat: Seat) -> None:
    """Anybody can make a link that says that something was done."""
    bob = seated(service, "bob")
    bob.send("decide", one=f"approve.{submit(service)}", back="queue")
    assert 'name="act"' not in text(seat.get("queue?done=approved.1.0.1"))
    assert 'name="act"' in text(bob.get("queue?done=approved.1.0.1"))
    for odd in ("approved.1.0", "<b>.1.0.1", "approved.x.0.1", "approved.1.0.1x"):
        assert 'role="status"' not in text(bob.get(f"queue?done={odd}"))


def test_a_list_is_read_in_pieces_without_a_gap(service: Served, seat: Seat) -> None:
    ids = [submit(service, status="spam") for _ in range(MOST + 7)]
    html = text(seat.get("comments?status=spam"))
    seen = listed(html)
    assert len(seen) == MOST
    older = re.search(r'href="(comments[^"]*)" rel="next"', html)
    assert older
    html = text(seat.get(older[1].replace("&amp;", "&")))
    assert seen + listed(html) == ids[::-1]
    assert 'rel="next"' not in html
    assert "To the newest" in html


def test_a_position_that_is_none_is_told(seat: Seat) -> None:
    assert seat.get("queue?after=x").status == 400
    assert "This is the end" in text(seat.get("queue?after=0.1"))


def test_all_can_be_ticked_without_a_script(service: Served, seat: Seat) -> None:
    submit(service)
    html = text(seat.get("queue"))
    assert "checked" not in html
    link = re.search(r'class="every" href="([^"]+)"', html)
    assert link
    assert text(seat.get(link[1])).count(" checked") == 1


def test_comments_are_found_by_words_address_and_page(service: Served, seat: Seat) -> None:
    wanted = submit(service, source="The walrus sings", email="rosa@blog.example", url="/w/")
    submit(service, source="Nothing here")
    html = text(seat.get("comments?q=walrus"))
    assert "are not in the search index yet" in html
    service.database.write_now(search.index_pending, 1_000)
    for query in ("walrus", "rosa@blog.example", "/w/", "text:sings"):
        html = text(seat.get(f"comments?q={query}"))
        assert listed(html) == [wanted], query
        assert "not searched yet" not in html
    assert listed(text(seat.get("comments?q=walrus&status=spam"))) == []
    assert listed(text(seat.get("comments?q=walrus&site=notes"))) == []
    assert seat.get("comments?q=walrus&after=x").status == 400


def test_a_found_comment_is_decided_on_where_it_was_found(service: Served, seat: Seat) -> None:
    number = submit(service, source="walrus")
    service.database.write_now(search.index_pending, 1_000)
    html = text(seat.get("comments?q=walrus%20%26"))
    back = re.search(r'name="back" value="([^"]+)"', html)
    assert back
    answer = seat.send("decide", one=f"spam.{number}", back=back[1].replace("&amp;", "&"))
    assert header(answer, "Location") == "comments?q=walrus+%26&done=spam.1.0.1"


def test_hostile_texts_stay_text_in_every_field(service: Served, seat: Seat) -> None:
    submit(
        service,
        source=HOSTILE,
        html="<p>safe</p>",
        author=HOSTILE,
        email=f"{HOSTILE}@x.example",
        author_site=f"https://x.example/{HOSTILE}",
        title=HOSTILE,
        url=f"/{HOSTILE}",
        score=5,
        reasons=HOSTILE,
    )
    for page in ("queue", f"comments?q={'%3Cscript%3E'}alert", "comment?id=1", "threads"):
        html = text(seat.get(page))
        assert "<script>alert" not in html, page
        assert "<img src=x" not in html, page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text(seat.get("queue"))


def test_the_verdict_is_shown_with_its_reasons(service: Served, seat: Seat) -> None:
    submit(service, score=8, reasons="links +5 4\nscript +3 greek\nas another program said")
    html = text(seat.get("queue"))
    assert "Spam score 8 of 9" in html
    assert '<span>more links than allowed: 4 <bdi dir="ltr">(+5)</bdi></span> ·\n' in html
    assert "<span>as another program said</span>" in html
    seat.send("language", language="de")
    html = text(seat.get("queue"))
    assert "mehr Links als erlaubt: 4" in html
    assert "in einer anderen Schrift geschrieben: Griechisch" in html


def test_a_page_of_a_site_without_origin_is_named_without_a_link(
    service: Served, seat: Seat
) -> None:
    submit(service, site="notes", url="/a-note/")
    html = text(seat.get("queue?site=notes"))
    assert listed(html) == [1]
    assert "/a-note/" in html
    assert "#comments" not in html
    assert listed(text(seat.get("queue?site=blog"))) == []


def test_what_a_reply_answers_is_quoted_above_it(service: Served, seat: Seat) -> None:
    html = f"<p>I  <em>say</em>:</p>\n<p>{'so ' * 100}</p>"
    parent = submit(service, author="Jonas <b>", html=html, status="approved")
    submit(service, source="No.", parent=parent)
    for page in ("queue", "comment?id=2"):
        html = text(seat.get(page))
        assert f'href="comment?id={parent}">Reply to <bdi>Jonas &lt;b&gt;</bdi></a>' in html
        quote = re.search(r"<q[^>]*>([^<]*)</q>", html)
        assert quote
        assert quote[1].startswith("I say: so so")
        assert quote[1].endswith("…")
        assert len(quote[1]) <= 200
    assert "<q" not in text(seat.get("comment?id=1"))
    cut = submit(service, html=f"<p>Not much</p>{'<em></em>' * 100}", status="approved")
    submit(service, source="No.", parent=cut)
    assert ">Not much</q>" in text(seat.get("comment?id=4")), "it may be cut within a tag"


def others(html: str) -> list[int]:
    found = re.search(r'name="others" value="([^"]*)"', html)
    return list(map(int, found[1].split())) if found else []


@pytest.mark.parametrize("query", ["", "walrus"])
@pytest.mark.parametrize("status", ["pending", "spam", "approved"])
def test_select_all_selects_all_that_match(
    service: Served, seat: Seat, status: str, query: str
) -> None:
    ids = [submit(service, source="A walrus", status=status) for _ in range(MOST + 4)]
    other = submit(service, source="A walrus", status=status, site="notes")
    service.database.write_now(search.index_pending, 1_000)
    page = f"comments?status={status}&q={query}&site=blog" if query or status != "pending" else ""
    html = text(seat.get(page or "queue?site=blog"))
    assert "Select these 50" in html
    link = re.search(r'href="([^"]+)">Select all 54<', html)
    assert link
    html = text(seat.get(link[1].replace("&amp;", "&")))
    assert sorted(listed(html) + others(html)) == ids
    assert html.count(" checked") == MOST
    assert "including 4 on other pages" in html
    sent = {"id": listed(html), "others": " ".join(map(str, others(html)))}
    answer = seat.send("decide", all="delete", back="queue", **sent)
    assert header(answer, "Location") == "queue?done=deleted.54.0.1"
    assert [number for number, is_now in statuses(service).items() if is_now != "deleted"] == [
        other
    ]
    seat.send("undo", act=1, back="queue")
    assert set(statuses(service).values()) == {status}


def test_no_more_than_a_thousand_are_selected_at_once(
    service: Served, seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_queue, "MANY", MOST + 2)
    ids = [submit(service) for _ in range(MOST + 3)]
    html = text(seat.get("queue"))
    assert f">Select the newest {MOST + 2}<" in html
    html = text(seat.get("queue?tick=every"))
    assert sorted(listed(html) + others(html)) == ids[1:]


def test_a_list_that_fits_one_page_has_one_way_to_select_all(service: Served, seat: Seat) -> None:
    submit(service)
    html = text(seat.get("queue"))
    assert ">Select all<" in html
    assert "tick=every" not in html


def test_what_readers_report_stands_in_the_queue_until_it_is_kept(
    service: Served, seat: Seat
) -> None:
    waiting, shown = submit(service), submit(service, status="approved")
    for word in ("a-random-word", "another-word"):
        service.database.write_now(reports.report, shown, word, 0)
    html = text(seat.get("queue"))
    assert listed(html) == [shown, waiting]
    assert "Reported by 2 readers" in html
    assert listed(text(seat.get("comments"))) == [shown]
    seat.send("decide", one=f"approve.{shown}", back="queue")
    assert listed(text(seat.get("queue"))) == [waiting]
    assert statuses(service)[shown] == "approved"


def test_moderators_read_why_readers_reported_a_comment(service: Served, seat: Seat) -> None:
    shown = submit(service, status="approved")
    reasons = [Reason("spam"), Reason("illegal", HOSTILE), Reason("spam", "It sells"), Reason()]
    for n, reason in enumerate([*reasons, *(Reason("other", f"No {n}") for n in range(9))]):
        service.database.write_now(reports.report, shown, f"a-random-word-{n}", n, reason)
    html = text(seat.get("queue"))
    assert "Something else" in html
    assert 'Spam or advertising <bdi dir="ltr">(2)</bdi>' in html
    assert html.count('<q dir="auto">') == reports.SHOWN, "the newest ones"
    details = text(seat.get(f"comment?id={shown}"))
    assert details.count('<q dir="auto">') == 11
    assert '<q dir="auto">&lt;script&gt;alert(1)&lt;/script&gt;' in details


@pytest.fixture
def mailing(tmp_path: Path) -> Iterator[Seat]:
    with served(tmp_path, WITH_NOTICES) as service:
        yield seated(service)


def reasons_of(seat: Seat, number: int) -> list[tuple[str, str]]:
    found = seat.service.database.read_now(statements.of_comment, number)
    return [(each.ground, each.message) for each in found]


def fields_for_reasons(seat: Seat) -> list[int]:
    """Return the number on the queue, the list of published comments, and one's own page."""
    shown = submit(seat.service, status="approved", email="ann@home.example")
    report(seat.service, shown)
    submit(seat.service)
    pages = ("queue", "comments", f"comment?id={shown}")
    return [text(seat.get(page)).count('<details class="statement"') for page in pages]


def test_reasons_are_asked_for_where_a_decision_is_mailed(mailing: Seat) -> None:
    assert fields_for_reasons(mailing) == [2, 2, 1], "one for all, and one for the reported comment"


def test_nobody_is_asked_for_reasons_that_nobody_gets(seat: Seat) -> None:
    assert fields_for_reasons(seat) == [0, 0, 0]


def test_one_decision_has_reasons_for_all_and_others_for_one(mailing: Seat) -> None:
    service = mailing.service
    first, second, third = [submit(service, status="approved") for _ in range(3)]
    mailing.send(
        "decide",
        all="delete",
        id=[first, second],
        ground="rules",
        reason="Off the topic",
        **{f"reason.{second}": "An insult\r\nof a reader", f"ground.{second}": "law"},
    )
    assert reasons_of(mailing, first) == [("rules", "Off the topic")]
    assert reasons_of(mailing, second) == [("law", "An insult\nof a reader")]
    mailing.send("decide", one=f"delete.{third}", reason="Off the topic", ground="rules")
    assert reasons_of(mailing, third) == [], "those are for the selected comments"


def test_the_page_of_a_comment_lists_the_reasons_that_were_given(mailing: Seat) -> None:
    number = submit(mailing.service, status="approved")
    fields = {f"reason.{number}": HOSTILE, f"ground.{number}": "law"}
    mailing.send("decide", one=f"delete.{number}", **fields)
    html = text(mailing.get(f"comment?id={number}"))
    assert "Reasons for decisions" in html
    assert "Against the law" in html
    assert HOSTILE not in html
