"""Mails, and the pages they link to, in a browser: on a phone and a desktop, light and dark."""

import itertools
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, expect

from commentsvc.auth import edit_tokens
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.db.database import Database
from commentsvc.db.schema.outbox import OutboxRow
from commentsvc.delivery.mail import MailComposer
from commentsvc.readers import subscriptions
from commentsvc.settings import data_dir
from commentsvc.settings.schema import ServerSettings, Settings, Site
from tests.accessibility import assert_fine
from tests.admin_e2e.moderator_browser import PICTURES, at_each_width, tab_without_policy
from tests.e2e.program import Service, serving
from tests.unit.database_fixture import NOW, add, opened
from tests.unit.mail_server import mail_settings

SETTINGS = Settings(
    server=ServerSettings(public_url="https://c.example"),
    mail=mail_settings(25),
    sites=(Site(name="blog", origins=("https://blog.example",), title="A blog"),),
)
ROW = OutboxRow(9, "mail", "", "ann@blog.example", 1, 3, "queued", NOW, NOW, NOW, 0, "")
LONG = (
    "> quoted\n\nA *longer* text, [a link](https://example.org/):\n\n```\n" + "x" * 200 + "\n```\n"
)
EMAIL = "ann@blog.example"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service that sends mail, to a server that does not exist."""
    data = tmp_path_factory.mktemp("mails") / "data"
    given = {
        "SERVER_PUBLIC_URL": "https://c.example",
        "MAIL_HOST": "localhost",
        "MAIL_PORT": "9",
        "MAIL_SENDER": "comments@blog.example",
        "MAIL_MODERATORS": EMAIL,
        "MODERATION_POLICY": "suspicious",
        "MODERATION_PROTECTED_NAMES": "Rosa Weber",
        "SITE_ORIGINS": "https://blog.example",
        "SITE_SIGN_IN": "mail,provider",
        "READERS_ISSUER": "https://id.example",
        "READERS_CLIENT_ID": "comments",
        "READERS_CLIENT_SECRET": "a secret",
        "READERS_NAME": "Our Id",
    }
    with serving(data, {f"COMMENTSVC_{name}": value for name, value in given.items()}) as service:
        service.submit("/p/", LONG, email=EMAIL, title="A walk " * 20)
        service.submit("/p/", "I agree.", author="Wolfeschlegelstein" * 4, parent=1)
        yield service


def test_everybody_can_use_the_pages_that_mails_lead_to(
    chromium: Browser, service: Service
) -> None:
    links = SignedLinks(edit_tokens.load_keys(service.data / data_dir.SECRET_KEY, ""))
    expires = int(time.time() * 1_000) + 600_000
    with tab_without_policy(chromium, service.address) as page:
        for number, target in enumerate(
            (
                f"mail/comment?t={links.make('comment', 'spam', 1, 1, EMAIL, expires=expires)}",
                f"mail/comment?t={links.make('comment', 'approved', 1, 1, EMAIL, expires=expires)}",
                "mail/comment?t=x",
                f"mail/stop?t={links.make('stop', 77, expires=expires)}",
                "mail/own",
                f"mail/export?t={links.make('export', EMAIL, expires=expires)}",
                f"mail/erase?t={links.make('erase', EMAIL, 1, expires=expires)}",
                "follow?url=/p/",
                "embed/thread?url=/p/&view=page",
                "embed/thread?url=/p/&view=page&lang=ar",
                "",
            )
        ):
            page.goto(f"/{target}")
            assert_fine(page, PICTURES / f"mail-leads-to-{number}")


@at_each_width
def test_everybody_can_use_the_pages_for_signing_in_and_following(
    chromium: Browser, service: Service, width: int
) -> None:
    links = SignedLinks(edit_tokens.load_keys(service.data / data_dir.SECRET_KEY, ""))
    expires = int(time.time() * 1_000) + 600_000
    with tab_without_policy(chromium, service.address, width) as page:
        numbers = itertools.count(1)

        def check() -> None:
            assert_fine(page, PICTURES / f"reader-{next(numbers)}", [width])

        def send(text: str) -> None:
            page.locator("input").fill(text)
            page.locator("form button").click()
            check()

        page.goto("/reader/sign-in?page=https://blog.example/p/&word=a-random-word")
        check()
        page.locator("form").evaluate("form => { form.noValidate = true }")
        send("ann@")
        send(EMAIL)
        page.goto(f"/reader/link?t={links.make('sign-in', *newest_link(service), expires=expires)}")
        check()
        page.locator("form button").click()
        check()
        send("Rosa Weber")
        expect(page.get_by_role("alert")).to_be_visible()
        page.goto("/follow?url=/p/")
        page.locator("form").evaluate("form => { form.noValidate = true }")
        send("ann@")
        send(f"follower{width}@mail.example")


def newest_link(service: Service) -> tuple[int, int]:
    """Return the id and the time of the newest mailed link for signing in."""
    with closing(service.rows()) as database:
        rows = database.execute("SELECT max(id), asked_at FROM sign_in_link").fetchall()
    [(number, asked_at)] = rows
    return int(number), int(asked_at)


def test_the_fields_of_the_plain_form_stand_at_even_distances(
    chromium: Browser, service: Service
) -> None:
    with tab_without_policy(chromium, service.address) as page:
        page.goto("/embed/thread?url=/p/&view=page")
        boxes = [field.bounding_box() for field in page.locator("form .commentsvc-field").all()]
    edges = [(box["y"], box["y"] + box["height"]) for box in boxes if box]
    gaps = {round(below[0] - above[1]) for above, below in itertools.pairwise(edges)}
    assert len(edges) == 5
    assert len(gaps) == 1, gaps


def mails(database: Database) -> Iterator[str]:
    """Return the HTML of one mail of each kind."""
    title = "A walk along the river"
    add(database, email=EMAIL, source=LONG, html="<p>" + "x" * 200, title=title)
    add(database, author="Tom", parent=1)
    add(database, status="pending", author="Wolfeschlegelstein" * 4)
    database.write_now(subscriptions.subscribe, 1)
    composer = MailComposer(SETTINGS, SignedLinks([b"key" * 16]))
    for kind, about in (
        ("submitted", 3),
        ("digest", 1),
        ("confirm", 1),
        ("reply", 2),
        ("own", None),
    ):
        if kind == "reply":
            database.write_now(subscriptions.confirm, 1, 0)
        row = replace(ROW, kind=kind, comment_id=about)
        envelope = database.read_now(composer.compose, row)
        assert envelope, kind
        body = envelope.message.get_body(("html",))
        assert body
        yield body.get_content()


def test_everybody_can_read_the_mails(chromium: Browser, service: Service, tmp_path: Path) -> None:
    with (
        opened(tmp_path) as database,
        tab_without_policy(chromium, service.address) as page,
    ):
        for number, html in enumerate(mails(database)):
            page.set_content(html)
            assert_fine(page, PICTURES / f"mail-{number}")
