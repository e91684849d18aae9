"""Every page that the service makes, in each of its states: a table by route."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from msgspec.structs import replace

from commentsvc import outbox
from commentsvc.auth import account_mails
from commentsvc.comments.page_urls import Sites
from commentsvc.db.connection import Transaction
from commentsvc.db.schema.inbox import MailedComment
from commentsvc.delivery.mail import MailComposer
from commentsvc.http.messages import Response
from commentsvc.http.refusals import bodies
from commentsvc.model import GONE, MOVED
from commentsvc.moderation import changes, moved_pages, profiles, threads
from commentsvc.moderation.moved_pages import BlogAnswer
from commentsvc.outbox import MailAddress
from commentsvc.pages.error_pages import ErrorPages
from commentsvc.pages.reader_sign_in import NAMING
from commentsvc.readers import accounts, mailed_comments
from commentsvc.settings.schema import (
    InboxSettings,
    MailSettings,
    OidcSettings,
    ServerSettings,
    Settings,
    Site,
)
from tests.unit.admin import test_first_owner, test_passkeys, test_two_factor
from tests.unit.admin_client import PASSWORD, Seat, seated
from tests.unit.app_fixture import SETTINGS, Served, data, served, waiting
from tests.unit.authenticator import SoftAuthenticator
from tests.unit.database_fixture import HOUR, add

BLOG, TITLE, PAGE = "https://blog.example", "Oak & Ash", "/p/"
WHOLE: Final = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://comments.example"),
    comments=replace(SETTINGS.comments, message_length=8_000, author_length=80, votes="both"),
    mail=MailSettings(host="localhost", sender="c@blog.example", moderators=("mo@blog.example",)),
    inbox=InboxSettings(address="comments@blog.example"),
    oidc=OidcSettings(issuer="https://login.example", client_id="x", client_secret="y"),
    sites=(
        Site(
            name="blog",
            origins=(BLOG,),
            title=TITLE,
            contact="Ann Example, Elm Street 1, Bree, ann@blog.example",
            reactions=("👍", "🎉"),
            math=True,
            images=True,
            webmentions=True,
            private_notes=True,
            notices=True,
            numbers=True,
            comments_by_mail=True,
            sign_in=("mail", "blog"),
            sso_url=f"{BLOG}/login",
            sso_secret="0123456789abcdef0123456789abcdef",
        ),
        Site(name="notes", title="Notes", origins=("https://notes.example",)),
    ),
)
THREAD: Final = urlencode({"url": PAGE, "view": "page", "site": "blog"})
ON_BLOG: Final = urlencode({"page": f"{BLOG}{PAGE}", "challenge": "a" * 43})
READER: Final = urlencode({"page": f"{BLOG}{PAGE}", "word": "a-random-word"})
# Author, message and parent. Comments 1 to 6 are published, 7 waits, 8 is spam, 9 is deleted.
CONVERSATION: Final = (
    ("Rosa", "Two coats, *the same day*:\n\n```sh\nsand --grit 240\n```\n\n1. Oil\n2. Wait", None),
    ("עדה", "שלום, איזה שמן? I use `tung oil` כאן.", 1),
    ("ليلى", "مرحبا! > see https://oil.example/a/very/long/address?with=words", 2),
    ("Wolfeschlegelsteinhausenbergerdorff", "long" * 60 + " [^1] $x^2$\n\n[^1]: Or ash.", None),
    ("Eva", "| Wood | Hard |\n|---|---|\n| Oak | Yes |\n\n> Quite.\n\n- [x] Done", None),
    ("Bob", "Mine.", None),
    *(("Eve", f"Number {number} שלום", None) for number in (7, 8, 9)),
)


class Visit:
    """The service with a conversation, a reader, and a moderator who is signed in."""

    def __init__(self, service: Served) -> None:
        self.service = service
        self.get, self.form = service.get, service.form
        for author, text, parent in CONVERSATION:
            email = f"{'eva' if author == 'Eva' else 'rosa'}@home.example"
            answer = service.submit(text, author=author, parent=parent, email=email)
            if author == "Bob":
                self.token = data(answer)["token"]
        for number, status in ((7, "pending"), (8, "spam"), (9, "deleted")):
            self.write(changes.change, [number], status, "ann", self.now)
        for number, lang in ((1, "en"), (2, "he"), (3, "ar")):
            self.write(changes.correct_language, number, lang, "ann", self.now)
        given = {"reason": "abuse", "explanation": "He shouts. זה לא יפה"}
        service.post("/api/comments/2/reports", given)
        service.form("/follow?site=blog", "email=rosa@home.example")
        service.form(f"/reader/sign-in?{READER}", "email=rosa@home.example")
        token = test_first_owner.link(service)
        person = test_first_owner.Person(service)
        self.of_first_owner = person.get(f"owner?t={token}"), person.make(token, again="")
        self.seat = seated(service)
        self.seat.send("ban", kind="word", value="cheap שלום", days="")

    @property
    def now(self) -> int:
        return self.service.clock.now_ms()

    def write(self, work: Callable[..., Any], *given: object) -> Any:  # Any: whatever it returns
        return self.service.database.write_now(work, *given)

    def act(self, **fields: str) -> Response:
        return self.form("/embed/actions", urlencode(fields))

    def link(self, purpose: str, *content: int | str, hours: int = 1) -> str:
        """Return the parameter of a signed link that ends after so many hours."""
        return "t=" + self.service.links.make(purpose, *content, expires=self.now + hours * HOUR)

    def decision(self, status: str, comment: int, hours: int = 1) -> str:
        return self.link("comment", status, comment, 1, "mo@blog.example", hours=hours)

    def objection(self, status: str, comment: int) -> str:
        return self.link("object", status, comment, "rosa@home.example", 1)

    def by_mail(self, hours: int = 1) -> str:
        """Return the address of the page of a comment that came by mail."""
        mail = MailedComment(b"x", "blog", PAGE, "eva@home.example", "Eva", "Hi **you** שלום", "en")
        self.write(mailed_comments.add, mail, self.now)
        return f"/mail/submit?{self.link('submit', 1, self.now, hours=hours)}"

    def answer(self, comment: int) -> str:
        self.write(_prove_address)
        return self.link("answer", comment, "mo@blog.example", 1)

    def naming(self, name: str = "") -> Response:
        who = self.write(accounts.identified, "blog", ("mail", "n@x.example"), "", self.now)
        link = self.link(NAMING, who.id, f"{BLOG}{PAGE}", "a-random-word")
        return self.form(f"/reader/name?{link}", urlencode({"name": name}))

    def stranger(self) -> Seat:
        return Seat(self.service, "198.51.100.7")

    def offered(self) -> Response:
        self.seat.send("factor", do="begin")
        return self.seat.get("factor")

    def code(self) -> Response:
        """Set up an app, and sign in up to the question for its code."""
        self.seat.send("factor", do="begin")
        key = test_two_factor.secret(self.seat)
        self.seat.send(
            "factor", do="confirm", code=test_two_factor.code(self.seat, key), password=PASSWORD
        )
        return self.stranger().sign_in()

    def confirming(self) -> str:
        [profile] = self.service.database.read_now(profiles.everyone)
        self.write(account_mails.ask, profile.id, MailAddress("ann@blog.example"), self.now)
        link = self.link(account_mails.CONFIRM_ADDRESS, profile.id, self.now)
        return f"confirm-address?{link}"

    def invitation(self) -> str:
        """Return the address of an invitation's page."""
        page = self.seat.send("invite", role="viewer", email="", password=PASSWORD).body.decode()
        return unescape(re.findall(r"/moderation/(invitation\S+?)</code>", page)[0])

    def invited(self, **fields: str) -> Response:
        token = self.invitation().partition("t=")[2]
        return self.stranger().send("invitation", t=token, name="mo", **fields)

    def with_passkey(self) -> Response:
        test_passkeys.add(self.seat, SoftAuthenticator())
        return self.seat.get("passkeys")

    def with_internal_note(self) -> Response:
        self.seat.send("internal-note", id="1", internal="Known from elsewhere")
        return self.seat.get("comment?id=1&saved=1")

    def with_trust(self) -> Response:
        who = self.write(accounts.identified, "blog", ("mail", "t@x.example"), "", self.now)
        self.write(accounts.choose_name, who, "Tove", ["tove"])
        self.write(accounts.set_trust, who.id, "ann", self.now)
        return self.seat.get("bans")

    def with_reply(self) -> Response:
        self.seat.send("replies", name="Thanks", message="Thank you!")
        return self.seat.get("replies?id=1")

    def changed_setting(self) -> Response:
        """Return the page with a change in the history."""
        fields = {"group": "form", "site": "blog", "seen": 0, "text.site.title": "Oaks"}
        self.seat.send("settings", **fields, password=PASSWORD)
        return self.seat.get("settings?saved=1")

    def added_site(self) -> Response:
        """Return the page with a site that the file does not have."""
        fields = {"do": "add", "name": "other", "origins": "https://other.example", "seen": 99}
        self.seat.send("sites", **fields, password=PASSWORD)
        return self.seat.get("sites?saved=1")

    def wrong_setting(self) -> Response:
        fields = {"group": "waiting", "seen": 0, "text.spam.max_links": "many " * 30}
        return self.seat.send("settings", **fields, password=PASSWORD)

    def tried_setting(self) -> Response:
        """Return the page with a form whose settings judge the last comments otherwise."""
        fields = {"group": "waiting", "text.spam.blocked_words": "hello\nyou", "try": "1"}
        return self.seat.send("settings", **fields)

    def noted(self) -> Response:
        """Return the page with two private notes that wait, after one was answered."""
        note = {"url": PAGE, "title": TITLE, "author": "Rosa", "email": "rosa@home.example"}
        said = ("Two *typos*.\n\nשלום <b>", "Fixed?", "long" * 60)
        for words in said:
            sent = note | {"message": words, "quote": f"teh {words}", "thank": True}
            self.service.post("/api/notes", sent)
        self.seat.send("notes", do="answer", id="1", message="Thank you!\n\nשלום")
        return self.seat.get("notes?done=answer")

    def moved(self) -> Response:
        """Return the page with one page that has moved, one that is gone, and two answers."""
        for number in (1, 2, 3):
            add(self.service.database, url=f"/moved/{number}/")
        addresses = (
            ("/moved/1/", "/new/"),
            ("/moved/2/", ""),
            ("/moved/3/", "/newer/"),
            (PAGE, "/p2/"),
        )
        ids = []
        for url, target in addresses:
            thread = self.service.database.read_now(threads.find, "blog", url).thread_id
            state = MOVED if target else GONE
            self.write(moved_pages.save, [BlogAnswer(thread, url, state, target, self.now)])
            ids.append(thread)
        self.seat.send("moved", do="follow", id=ids[2:])
        return self.seat.get("moved?done=follow")

    def failed_mail(self) -> Response:
        row = self.service.database.read_now(outbox.due, "mail", self.now, 1)[0]
        self.write(outbox.mark_sent, row, "550 no such mailbox", self.now)
        return self.seat.get("outbox")


def _prove_address(tx: Transaction) -> None:
    profiles.verify(tx, profiles.named(tx, "ann"), "mo@blog.example")


def _comment(visit: Visit, **fields: str) -> Response:
    given = {"url": PAGE, "author": "Ann", "message": "Hi **you** שלום"}
    return visit.form("/embed/thread?site=blog", urlencode(given | fields))


State = Callable[[Visit], Response]

# What the table of pages for people has for each route that answers HTML: its states.
PAGES: Final[dict[str, list[State]]] = {
    "GET /": [lambda v: v.get("/"), lambda v: v.get("/?lang=he")],
    "GET /comment/{id}": [
        lambda v: v.get("/comment/2"),
        lambda v: v.get("/comment/4"),
        lambda v: v.get("/comment/9"),
    ],
    "GET /embed/search": [
        lambda v: v.get("/embed/search?site=blog"),
        lambda v: v.get(f"/embed/search?site=blog&q=coats&url={PAGE}"),
        lambda v: v.get("/embed/search?q=nothing"),
        lambda v: v.get(f"/embed/search?site=blog&q={'a' * 999}"),
    ],
    "GET /embed/thread": [
        lambda v: v.get(f"/embed/thread?{THREAD}"),
        lambda v: v.get(f"/embed/thread?{THREAD}&lang=ar"),
        lambda v: v.get(f"/embed/thread?{THREAD}&parent=2"),
        lambda v: v.get(f"/embed/thread?{THREAD}&only=he"),
        lambda v: v.get(f"/embed/thread?{THREAD}&only=fr&lang=fa"),
        lambda v: v.get(f"/embed/thread?{THREAD}&closed=yes"),
        lambda v: v.get("/embed/thread?url=/empty/&view=page"),
    ],
    "POST /embed/thread": [
        _comment,
        lambda v: _comment(v, message="cheap שלום"),
        lambda v: _comment(v, message="", author="", email="x", site="x"),
        lambda v: _comment(v, url="https://else.example/"),
        lambda v: v.form("/embed/thread?lang=de", "x=%"),
    ],
    "POST /embed/reactions": [lambda v: v.form("/embed/reactions", f"url={PAGE}&emoji=x")],
    "POST /embed/actions": [
        lambda v: v.act(comment="2", do="report"),
        lambda v: v.act(comment="2", do="report", reason="spam"),
        lambda v: v.act(comment="6", do="delete", token=v.token),
        lambda v: v.act(comment="6", do="edit", token=v.token, message="New"),
        lambda v: v.act(comment="6", do="edit", token="x", message="New"),
        lambda v: v.act(comment="6", do="edit", token=v.token, message=""),
        lambda v: v.act(comment="6", do="delete", token=v.token, sure="yes"),
        lambda v: v.act(comment="99", do="up"),
    ],
    "GET /mail/comment": [
        lambda v: v.get(f"/mail/comment?{v.decision('approved', 7)}"),
        lambda v: v.get(f"/mail/comment?{v.decision('approved', 1)}"),
        lambda v: v.get(f"/mail/comment?{v.decision('approved', 7, -1)}"),
        lambda v: v.get("/mail/comment?t=x"),
    ],
    "POST /mail/comment": [lambda v: v.form(f"/mail/comment?{v.decision('approved', 7)}", "")],
    "GET /mail/answer": [
        lambda v: v.get(f"/mail/answer?{v.answer(7)}"),
        lambda v: v.get(f"/mail/answer?{v.answer(8)}"),
    ],
    "POST /mail/answer": [
        lambda v: v.form(f"/mail/answer?{v.answer(7)}", "message=Yes"),
        lambda v: v.form(f"/mail/answer?{v.answer(7)}", "message="),
        lambda v: v.form("/mail/answer?t=x", "message=Kept"),
    ],
    "GET /mail/confirm": [lambda v: v.get(f"/mail/confirm?{v.link('confirm', 1)}")],
    "POST /mail/confirm": [
        lambda v: v.form(f"/mail/confirm?{v.link('confirm', 1)}", ""),
        lambda v: v.form(f"/mail/confirm?{v.link('confirm', 1, hours=-1)}", ""),
    ],
    "GET /mail/object": [
        lambda v: v.get(f"/mail/object?{v.objection('approved', 2)}"),
        lambda v: v.get(f"/mail/object?{v.objection('approved', 9)}&lang=ar"),
    ],
    "POST /mail/object": [
        lambda v: v.form(f"/mail/object?{v.objection('deleted', 9)}&lang=de", "message=Why%3F")
    ],
    "GET /mail/stop": [lambda v: v.get(f"/mail/stop?{v.link('stop', 1)}&lang=ar")],
    "POST /mail/stop": [lambda v: v.form(f"/mail/stop?{v.link('stop', 1)}", "")],
    "GET /mail/own": [lambda v: v.get("/mail/own"), lambda v: v.get("/mail/own?lang=he")],
    "POST /mail/own": [
        lambda v: v.form("/mail/own", "email=x"),
        lambda v: v.form("/mail/own", "email=rosa@home.example"),
    ],
    "GET /mail/write": [
        lambda v: v.get(f"/mail/write?url={PAGE}&site=blog"),
        lambda v: v.get(f"/mail/write?url={PAGE}&site=blog&lang=he"),
        lambda v: v.get("/mail/write?url=https://else.example/"),
    ],
    "GET /mail/submit": [
        lambda v: v.get(v.by_mail()),
        lambda v: v.get(f"{v.by_mail()}&lang=ar"),
        lambda v: v.get(v.by_mail(hours=-1)),
    ],
    "POST /mail/submit": [
        lambda v: v.form(v.by_mail(), "name=Eva&message=Hi"),
        lambda v: v.form(v.by_mail(), "name=&message=Kept"),
        lambda v: v.form("/mail/submit?t=x", "name=Eva&message=Kept"),
    ],
    "GET /mail/export": [lambda v: v.get(f"/mail/export?{v.link('export', 'rosa@home.example')}")],
    "POST /mail/export": [lambda v: v.form("/mail/export?t=x", "")],
    "GET /mail/erase": [lambda v: v.get(f"/mail/erase?{v.link('erase', 'eva@home.example', 1)}")],
    "POST /mail/erase": [
        lambda v: v.form(f"/mail/erase?{v.link('erase', 'eva@home.example', 1)}", "")
    ],
    "GET /follow": [lambda v: v.get("/follow?site=blog"), lambda v: v.get("/follow?site=none")],
    "POST /follow": [
        lambda v: v.form("/follow?site=blog", "email=x"),
        lambda v: v.form("/follow?site=blog", "email=x@home.example"),
    ],
    "GET /mail/follow": [lambda v: v.get(f"/mail/follow?{v.link('follow', 1)}")],
    "POST /mail/follow": [lambda v: v.form(f"/mail/follow?{v.link('follow', 1)}", "")],
    "GET /mail/unfollow": [lambda v: v.get(f"/mail/unfollow?{v.link('unfollow', 1)}")],
    "POST /mail/unfollow": [lambda v: v.form(f"/mail/unfollow?{v.link('unfollow', 1)}", "")],
    "GET /numbers": [lambda v: v.get("/numbers?site=blog")],
    "GET /privacy": [
        lambda v: v.get("/privacy?site=blog"),
        lambda v: v.get("/privacy?site=blog&lang=ar"),
    ],
    "GET /reader/sign-in": [
        lambda v: v.get(f"/reader/sign-in?{READER}"),
        lambda v: v.get("/reader/sign-in?page=x&word=a-random-word"),
    ],
    "POST /reader/sign-in": [
        lambda v: v.form(f"/reader/sign-in?{READER}", "email=x"),
        lambda v: v.form(f"/reader/sign-in?{READER}", "email=x@home.example"),
    ],
    "GET /reader/provider": [lambda v: v.get(f"/reader/provider?{READER}")],
    "GET /reader/blog": [lambda v: v.get("/reader/blog?page=x&word=a-random-word")],
    "GET /reader/return": [lambda v: v.get("/reader/return?state=x")],
    "GET /reader/link": [
        lambda v: v.get(f"/reader/link?{v.link('sign-in', 1)}"),
        lambda v: v.get(f"/reader/link?{v.link('sign-in', 1, hours=-1)}"),
    ],
    "POST /reader/link": [lambda v: v.form(f"/reader/link?{v.link('sign-in', 1)}", "")],
    "POST /reader/name": [lambda v: v.naming("ann"), lambda v: v.naming("Zoe")],
}
# Likewise for moderators. Routes that lead to another page, and have errors alone, are below.
MODERATION: Final[dict[str, list[State]]] = {
    "GET /moderation/sign-in": [lambda v: v.stranger().get("sign-in")],
    "POST /moderation/sign-in": [
        lambda v: v.stranger().sign_in("ann", "wrong"),
        lambda v: v.code(),
    ],
    "POST /moderation/code": [lambda v: v.stranger().send("code", step="x", code="1")],
    "POST /moderation/passkey": [lambda v: v.stranger().send("passkey", credential="x")],
    "GET /moderation/provider-return": [lambda v: v.stranger().get("provider-return?state=x")],
    "GET /moderation/queue": [lambda v: v.seat.get("queue"), lambda v: v.seat.get("queue?all=1")],
    "GET /moderation/comments": [
        *(
            lambda v, status=status: v.seat.get(f"comments?status={status}")
            for status in ("approved", "spam", "deleted")
        ),
        lambda v: v.seat.get("comments?q=oil"),
        lambda v: v.seat.get("comments?q=nothing"),
    ],
    "GET /moderation/comment": [
        *(lambda v, n=n: v.seat.get(f"comment?id={n}") for n in (1, 2, 3, 7, 8, 9)),
        lambda v: v.with_internal_note(),
        lambda v: v.seat.get("comment?id=99"),
    ],
    "POST /moderation/answer": [
        lambda v: v.seat.send("answer", answer="99", **{"text.99": "My answer"})
    ],
    "POST /moderation/internal-note": [
        lambda v: v.seat.send("internal-note", id="1", internal=" ")
    ],
    "POST /moderation/edit": [lambda v: v.seat.send("edit", id="1", message="")],
    "POST /moderation/comment-language": [
        lambda v: v.seat.send("comment-language", id="1", lang="x")
    ],
    "GET /moderation/threads": [lambda v: v.seat.get("threads")],
    "GET /moderation/on-blog": [lambda v: v.seat.get(f"on-blog?{ON_BLOG}")],
    "POST /moderation/on-blog": [lambda v: v.seat.send("on-blog", **dict(parse_qsl(ON_BLOG)))],
    "GET /moderation/notes": [
        lambda v: v.seat.get("notes"),
        lambda v: v.noted(),
        lambda v: v.seat.get("notes?state=done"),
    ],
    "POST /moderation/notes": [
        lambda v: v.seat.send("notes", do="answer", id="1", message="x" * 9_000)
    ],
    "GET /moderation/moved": [lambda v: v.seat.get("moved"), lambda v: v.moved()],
    "POST /moderation/moved": [lambda v: v.seat.send("moved", do="follow")],
    "GET /moderation/thread": [lambda v: v.seat.get("thread?id=1")],
    "POST /moderation/thread": [lambda v: v.seat.send("thread", id="1", do="url", value="x y")],
    "GET /moderation/bans": [lambda v: v.seat.get("bans"), lambda v: v.with_trust()],
    "POST /moderation/ban": [lambda v: v.seat.send("ban", kind="network", value="x", days="")],
    "GET /moderation/replies": [lambda v: v.seat.get("replies"), lambda v: v.with_reply()],
    "POST /moderation/replies": [lambda v: v.seat.send("replies", name="x" * 99, message="Hi")],
    "GET /moderation/outbox": [lambda v: v.seat.get("outbox"), lambda v: v.failed_mail()],
    "GET /moderation/dashboard": [lambda v: v.seat.get("dashboard")],
    "POST /moderation/settings": [lambda v: v.wrong_setting(), lambda v: v.tried_setting()],
    "GET /moderation/sites": [
        lambda v: v.seat.get("sites"),
        lambda v: v.added_site(),
        lambda v: v.seat.get("sites?remove=other"),
    ],
    "POST /moderation/sites": [
        lambda v: v.seat.send("sites", do="add", name="A b", origins="x" * 99, password=PASSWORD)
    ],
    "GET /moderation/snippet": [
        lambda v: v.seat.get("snippet"),
        lambda v: v.seat.get("snippet?site=other"),
    ],
    "POST /moderation/snippet": [lambda v: v.seat.send("snippet", page="x")],
    "GET /moderation/settings": [
        lambda v: v.seat.get("settings"),
        lambda v: v.changed_setting(),
        lambda v: v.seat.get("settings?undo=1"),
        lambda v: v.seat.get("settings?q=nothing+like+it"),
    ],
    "GET /moderation/account": [lambda v: v.seat.get("account")],
    "POST /moderation/profile": [lambda v: v.seat.send("profile", public_name="x" * 99, site="x")],
    "POST /moderation/password": [lambda v: v.seat.send("password", password="x", new="x")],
    "POST /moderation/credentials": [lambda v: v.seat.send("credentials", everywhere="1")],
    "POST /moderation/address": [lambda v: v.seat.send("address", email="x", password="x")],
    "GET /moderation/confirm-address": [
        lambda v: v.seat.get(v.confirming()),
        lambda v: v.seat.get("confirm-address?t=x"),
    ],
    "POST /moderation/confirm-address": [lambda v: v.seat.send("confirm-address", t="x")],
    "GET /moderation/accounts": [lambda v: v.seat.get("accounts")],
    "POST /moderation/accounts": [
        lambda v: v.seat.send("accounts", do="role", id="1", role="viewer")
    ],
    "POST /moderation/invite": [
        lambda v: v.seat.send("invite", role="viewer", email="", password=PASSWORD),
        lambda v: v.seat.send("invite", role="viewer", email="x", password="x"),
    ],
    "GET /moderation/invitation": [
        lambda v: v.stranger().get(v.invitation()),
        lambda v: v.stranger().get("invitation?t=x"),
    ],
    "POST /moderation/invitation": [lambda v: v.invited(password="x", again="y")],
    "GET /moderation/owner": [
        lambda v: v.of_first_owner[0],
        lambda v: v.stranger().get("owner?t=x"),
    ],
    "POST /moderation/owner": [lambda v: v.of_first_owner[1]],
    "GET /moderation/factor": [lambda v: v.seat.get("factor")],
    "POST /moderation/factor": [
        lambda v: v.offered(),
        lambda v: v.seat.send("factor", do="confirm", code="1", password="x"),
    ],
    "GET /moderation/passkeys": [lambda v: v.seat.get("passkeys"), lambda v: v.with_passkey()],
    "POST /moderation/passkeys": [lambda v: v.seat.send("passkeys", name="x", credential="x")],
    "GET /moderation/downloads": [
        lambda v: v.seat.get("downloads"),
    ],
    "POST /moderation/downloads": [
        lambda v: v.seat.send("downloads", kind="backup", password="another"),
    ],
    "GET /moderation/tokens": [lambda v: v.seat.get("tokens")],
    "POST /moderation/tokens": [
        lambda v: v.seat.send("tokens", name="CI", scope="read", days="30", password=PASSWORD)
    ],
    # What every form's error looks like
    "POST /moderation/decide": [
        lambda v: v.stranger().post("decide", {"one": "approve.7"}),
        lambda v: v.stranger().get("queue", sec_fetch_site="cross-site"),
    ],
}
# Routes without a page of their own: they lead to another one, or show the error above.
WITHOUT: Final = frozenset(
    f"{method} /moderation{path}"
    for method, path in (
        ("GET", ""),
        ("GET", "/provider"),
        ("GET", "/image"),
        ("GET", "/stream"),
        ("POST", "/sign-out"),
        ("POST", "/undo"),
        ("POST", "/pin"),
        ("POST", "/trust"),
        ("POST", "/ban-comments"),
        ("POST", "/unban"),
        ("POST", "/outbox"),
        ("POST", "/language"),
    )
)


# Where readers react to comments
REACTING: Final = replace(WHOLE, comments=replace(WHOLE.comments, votes="reactions"))
REACTIONS: dict[str, list[State]] = {
    "POST /embed/actions": [
        lambda v: v.act(comment="2", do="react"),
        lambda v: v.act(comment="2", emoji="x"),
        lambda v: v.act(comment="99", emoji="👍"),
    ],
    "GET /embed/thread": [lambda v: _reacted(v, "2", "👍")],
}


def _reacted(visit: Visit, comment: str, emoji: str) -> Response:
    given = visit.service.ask(
        "POST",
        "/embed/actions",
        urlencode({"comment": comment, "emoji": emoji}).encode(),
        "198.51.100.7",
        content_type="application/x-www-form-urlencoded",
    )
    assert given.status == 303, given
    return visit.get(f"/embed/thread?{THREAD}")


def shown(visit: Visit, table: dict[str, list[State]]) -> Iterator[tuple[str, str]]:
    """Yield a name and the HTML of each state in a table."""
    for route, states in table.items():
        for number, state in enumerate(states, 1):
            answer = state(visit)
            kind = dict(answer.headers).get("Content-Type", "")
            assert kind.startswith("text/html"), (route, number, answer)
            yield f"{route} {number}", answer.body.decode()


def of_errors(settings: Settings) -> dict[str, str]:
    """Return the pages in place of JSON, for each error that the core answers by itself."""
    made = ErrorPages(Sites(settings.sites)).made_before(bodies())
    return {f"error {status}": html.decode() for status, html in made.items()}


@contextmanager
def visited(folder: Path, settings: Settings = WHOLE) -> Iterator[Visit]:
    """Open the service with all of that in a new database."""
    with served(folder, settings) as service:
        yield Visit(service)


def mails(visit: Visit) -> dict[str, str]:
    """Return the HTML of the mails that wait to be sent."""
    composer = MailComposer(visit.service.service.settings, visit.service.links)
    made = {}
    for row in waiting(visit.service):
        envelope = visit.service.database.read_now(composer.compose, row)
        body = envelope.message.get_body(("html",)) if envelope else None
        if body:
            made[f"mail {row.id} {row.kind}"] = body.get_content()
    return made
