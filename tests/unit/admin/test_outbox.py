"""The page of the outbox: the state of each mail, and sending it again."""

import re

from commentsvc import outbox
from commentsvc.admin.outbox import MOST
from commentsvc.db.schema.outbox import Target
from commentsvc.delivery.mail_kinds import KINDS
from commentsvc.outbox import MailAddress
from tests.unit.admin_client import Seat, header, text
from tests.unit.app_fixture import NOW, Served
from tests.unit.database_fixture import add

MS = int(NOW * 1_000)


def queue_mail(service: Served, recipient: str = "me@blog.example") -> None:
    """Put a row for a new comment into the outbox."""
    target = Target("mail", recipient, 0, changes=False)
    service.database.write_now(outbox.sync_targets, [target])
    add(service.database, now=MS, status="pending")


def fail(service: Served, error: str) -> None:
    """Make everything that is due fail permanently."""
    rows = service.database.read_now(outbox.due, "mail", MS + 1, 100)
    for row in rows:
        service.database.write_now(outbox.mark_sent, row=row, error=error, now=MS)


def test_an_empty_outbox_has_a_kind_word(seat: Seat) -> None:
    assert "Nothing was sent yet" in text(seat.get("outbox"))


def test_a_row_is_shown_with_what_became_of_it(service: Served, seat: Seat) -> None:
    queue_mail(service)
    html = text(seat.get("outbox"))
    assert "me@blog.example" in html
    assert "Mail: 1 waiting" in html
    fail(service, "550 <b>no such mailbox</b>")
    html = text(seat.get("outbox?state=failed"))
    assert "550 &lt;b&gt;no such mailbox&lt;/b&gt;" in html
    assert "1 failed" in html
    assert "me@blog.example" not in text(seat.get("outbox?state=sent"))
    assert "me@blog.example" in text(seat.get("outbox?state=odd"))


def test_each_kind_of_mail_has_a_name(service: Served, seat: Seat) -> None:
    for kind in KINDS:
        service.database.write_now(outbox.mail, kind, MailAddress("me@blog.example"), MS)
    html = text(seat.get("outbox", accept_language="de"))
    named = re.findall(r"<strong>(.*?)</strong>", html)
    assert len(named) == len(KINDS)
    assert {"Link zum Anmelden", "Antwort auf eine E-Mail"} < set(named)
    assert set(named) & set(KINDS) == {"test"}, "which is sent at once"


def test_what_failed_is_sent_again(service: Served, seat: Seat) -> None:
    queue_mail(service)
    fail(service, "550 no")
    assert header(seat.send("outbox", id="1"), "Location") == "outbox?done=again"
    [row] = service.database.read_now(outbox.due, "mail", MS, 10)
    assert (row.state, row.attempts) == ("queued", 0)
    assert "sent in a moment" in text(seat.get("outbox?done=again"))
    assert header(seat.send("outbox", id="77"), "Location") == "outbox?done=nothing"
    assert seat.send("outbox", id="x").status == 404


def test_many_rows_are_read_in_pieces(service: Served, seat: Seat) -> None:
    for _ in range(MOST + 2):
        queue_mail(service)
    html = text(seat.get("outbox"))
    assert html.count("me@blog.example") == MOST
    assert text(seat.get("outbox?before=3")).count("me@blog.example") == 2
    assert "before=3" in html
    assert seat.get("outbox?before=x").status == 404
