"""Each signed link × what may have been revoked since it was made, or another version made it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from commentsvc.auth import accounts, invitations
from commentsvc.auth.signed_links import CONTENT
from commentsvc.db.schema.comments import InvitationTable
from commentsvc.db.schema.inbox import MailedComment
from commentsvc.db.schema.outbox import CONFIRMED
from commentsvc.db.schema.readers import SignInLinkTable
from commentsvc.moderation import profiles
from commentsvc.readers import accounts as accounts_of_readers
from commentsvc.readers import follows, mailed_comments, subscriptions
from commentsvc.settings.schema import (
    HooksSettings,
    InboxSettings,
    OidcSettings,
    ServerSettings,
    Settings,
)
from tests.unit.admin_client import PASSWORD, seated
from tests.unit.app_fixture import NOW, SETTINGS, Served, served
from tests.unit.database_fixture import HOUR
from tests.unit.mail_server import mail_settings

MO: Final = "mo@blog.example"
PUBLIC: Final = replace(
    SETTINGS,
    server=ServerSettings(public_url="https://c.example"),
    moderation=replace(SETTINGS.moderation, policy="all"),
    mail=mail_settings(25),
    hooks=HooksSettings(slack="https://hooks.example/x"),
    inbox=InboxSettings(address="comments@blog.example"),
    sites=(replace(SETTINGS.sites[0], comments_by_mail=True), *SETTINGS.sites[1:]),
)
# The links by name: their page, and what their token says.
LINKS: Final[dict[str, tuple[str, tuple[int | str, ...]]]] = {
    "decide": ("comment", ("approved", 1, 1, MO)),
    "decide in a messenger": ("comment", ("approved", 1, 2, "slack")),
    "answer": ("answer", (1, MO, 1)),
    "confirm": ("confirm", (1,)),
    "stop": ("stop", (1,)),
    "follow": ("follow", (1,)),
    "unfollow": ("unfollow", (1,)),
    "send": ("submit", (1, int(NOW * 1_000))),
}
DECIDE: Final = {"decide", "answer"}
ACCEPT: Final = {"confirm", "follow"}
SEND: Final = {"send"}


def without_address(settings: Settings) -> Settings:
    return replace(settings, mail=replace(settings.mail, moderators=("jo@blog.example",)))


def with_other_spelling(settings: Settings) -> Settings:
    return replace(settings, mail=replace(settings.mail, moderators=("Mo@Blog.example",)))


def without_messenger(settings: Settings) -> Settings:
    return replace(settings, hooks=HooksSettings())


def without_site(settings: Settings) -> Settings:
    return replace(settings, sites=settings.sites[1:])


def without_comments_by_mail(settings: Settings) -> Settings:
    first, *others = settings.sites
    return replace(settings, sites=(replace(first, comments_by_mail=False), *others))


def unchanged(settings: Settings) -> Settings:
    return settings


def nothing(service: Served) -> None:
    pass


def remove_account(service: Served) -> None:
    service.database.write_now(profiles.remove, "mo")


def lower_role(service: Served) -> None:
    service.database.write_now(profiles.assign, "mo", "viewer", ())


def other_site(service: Served) -> None:
    service.database.write_now(profiles.assign, "mo", "moderator", ("notes",))


def forget_mails(service: Served) -> None:
    service.database.write_now(mailed_comments.forget, "eva@mail.example")


def other_address(service: Served) -> None:
    mo = service.database.read_now(profiles.named, "mo")
    service.database.write_now(profiles.verify, mo, "new@blog.example")


def end_subscriptions(service: Served) -> None:
    service.database.write_now(subscriptions.stop, 1)
    service.database.write_now(follows.stop, 1, service.clock.now_ms())


Change = Callable[[Settings], Settings]
Revoke = Callable[[Served], None]
# What is revoked, in the settings or in the database, and the links that end with it. An address of
# `mail.moderators` without an account may decide, so the account alone takes only the answers.
TABLE: Final[list[tuple[Change, Revoke, set[str]]]] = [
    (unchanged, nothing, set()),
    (with_other_spelling, nothing, set()),
    (without_address, nothing, DECIDE),
    (without_address, remove_account, DECIDE),
    (without_messenger, nothing, {"decide in a messenger"}),
    (without_site, nothing, {*DECIDE, "decide in a messenger", *ACCEPT, *SEND}),
    (without_comments_by_mail, nothing, SEND),
    (unchanged, forget_mails, SEND),
    (unchanged, remove_account, {"answer"}),
    (unchanged, lower_role, DECIDE),
    (unchanged, other_site, DECIDE),
    (unchanged, other_address, {"answer"}),
    (unchanged, end_subscriptions, ACCEPT),
]


def prepared(service: Served) -> None:
    """Store a comment that waits, the account mo, and an address that was asked for its consent."""
    service.submit("Hello", email="ann@mail.example", notify=True)
    now = service.clock.now_ms()
    write = service.database.write_now
    for name in ("mo", "jo"):
        write(accounts.add, name, "hash", now)
    write(profiles.assign, "jo", "owner", ())
    write(profiles.verify, service.database.read_now(profiles.named, "mo"), MO)
    write(follows.request, ("blog", "/p/"), "bob@mail.example", "en", now)
    mail = MailedComment(b"x", "blog", "/p/", "eva@mail.example", "Eva", "Hi", "en")
    write(mailed_comments.add, mail, now)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("change", "revoke", "ended"), TABLE)
def test_a_link_ends_with_what_it_came_from(
    tmp_path: Path, link: str, change: Change, revoke: Revoke, ended: set[str]
) -> None:
    with served(tmp_path, PUBLIC) as service:
        prepared(service)
        revoke(service)
    with served(tmp_path, change(PUBLIC)) as service:
        page, content = LINKS[link]
        token = service.links.make(page, *content, expires=service.clock.now_ms() + HOUR)
        target = f"/mail/{page}?t={token}"
        asked, done = (
            service.get(target).status,
            service.form(target, "message=Yes&name=Eva").status,
        )
        assert done == (410 if link in ended else 200)
        if link not in ACCEPT:  # those say after the press of the button that it was used
            assert asked == done
        if link in ended:
            assert service.stored()[-1].comment.status == "pending"
            subscriber = service.database.read_now(subscriptions.subscriber, 1)
            assert subscriber is None or subscriber[2] != CONFIRMED


# The pages of tokens that are not below /mail, and the fields of moderators' forms with tokens.
PAGES: Final = {
    "sign-in": "/reader/link?t=",
    "reader state": "/reader/return?state=",
    "invitation": "/moderation/invitation?t=",
    "owner": "/moderation/owner?t=",
    "provider": "/moderation/provider-return?code=x&state=",
}
FORMS: Final = {
    "confirm-address": ("confirm-address", "t"),
    "second step": ("code", "step"),
    "passkey": ("passkey", "challenge"),
    "new passkey": ("passkeys", "challenge"),
}


@pytest.mark.parametrize("time", [InvitationTable.created_at, SignInLinkTable.asked_at], ids=str)
def test_a_link_opens_nothing_that_has_its_id_since_a_backup_was_restored(
    tmp_path: Path,
    time: Any,  # Any: a column of a model
) -> None:
    sites = (replace(PUBLIC.sites[0], sign_in=("mail",)),)
    with served(tmp_path, replace(PUBLIC, sites=sites)) as service:
        now = service.clock.now_ms()
        if time.model is InvitationTable:
            seated(service)
            made = service.database.write_now(invitations.add, 1, "viewer", "", "", now)
            link = f"/moderation/invitation?t={made.token(service.links)}"
        else:
            page = ("blog", f"{PUBLIC.sites[0].origin}/p/", "a random word")
            service.database.write_now(accounts_of_readers.ask_by_mail, page, MO, "en", now)
            token = service.links.make("sign-in", 1, now, expires=now + HOUR)
            link = f"/reader/link?t={token}"

        def opened() -> int:
            return service.ask("GET", link, b"", "127.0.0.1", host="localhost").status

        assert opened() == 200
        later = time.model.update({time: now + 1})
        service.database.write_now(lambda tx: tx.change(later))
        assert opened() == 410


def test_a_link_of_another_version_has_expired(tmp_path: Path) -> None:
    """What it contains was signed, but has one value more or fewer than today."""
    provider = OidcSettings(issuer="https://id.example", client_id="c", client_secret="s")
    sites = (replace(PUBLIC.sites[0], sign_in=("mail", "provider")),)
    settings = replace(PUBLIC, sites=sites, oidc=provider, readers=provider)
    with served(tmp_path, settings) as service:
        seat, expires = seated(service), service.clock.now_ms() + HOUR
        for purpose, kinds in CONTENT.items():
            content = [kind(1) for kind in kinds]
            for other in (content[:-1], [*content, 1]):
                token = service.links.make(purpose, *other, expires=expires)
                if purpose in FORMS:
                    form, field = FORMS[purpose]
                    answer = seat.send(form, **{field: token}, password=PASSWORD)
                elif purpose == "blog session":
                    fields = {"code": token, "word": "x" * 32}
                    answer = service.post("/api/thread-moderation/session", fields)
                elif purpose == "reader name":
                    answer = service.form(f"/reader/name?t={token}", "name=Ann")
                else:
                    answer = service.get(PAGES.get(purpose, f"/mail/{purpose}?t=") + token)
                assert answer.status in (401, 403, 410), purpose
