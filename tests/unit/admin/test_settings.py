"""The settings page: what an owner changes is in force at once, and can be undone."""

import html
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from commentsvc.auth import accounts
from commentsvc.comments import queries
from commentsvc.comments.page_urls import PageRef
from commentsvc.db.connection import Transaction
from commentsvc.db.schema.moderation import SettingChangeTable
from commentsvc.http.messages import Request, Response
from commentsvc.model import SETTINGS_TAG
from commentsvc.moderation import profiles, stored_settings
from commentsvc.runtime import settings_watch
from commentsvc.runtime.settings_watch import SettingsInForce
from commentsvc.settings import everyday
from commentsvc.settings.everyday import GROUPS, SETTINGS, EverydaySetting, SettingRefused
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.parser import SettingsError
from commentsvc.settings.schema import (
    SECTIONS,
    InboxSettings,
    JudgeSettings,
    MailSettings,
    ServerSettings,
    Settings,
)
from commentsvc.spam import dry_run
from commentsvc.spam.dry_run import Tried
from commentsvc.util.i18n import find_language, moderators_tags, speaking, translate
from tests.unit.admin_client import HASH, PASSWORD, Seat, header, seated, text
from tests.unit.app_fixture import SETTINGS as GIVEN
from tests.unit.app_fixture import Served, data, served

HOUR = 3_600  # seconds

# A value that is typed for each setting, and the value that it gives.
TYPED: dict[str, tuple[str, object]] = {
    "moderation.policy": ("none", "none"),
    "moderation.trust_after": ("3", 3),
    "moderation.protected_names": ("Ann\r\nBen Beech", ("Ann", "Ben Beech")),
    "spam.max_links": ("7", 7),
    "spam.blocked_words": ("casino, online\r\n\r\n pills ", ("casino, online", "pills")),
    "spam.scripts": ("latin\ngreek", ("latin", "greek")),
    "spam.spam_score": ("0", 0),
    "spam.bayes": ("", False),
    "spam.duplicates": ("", False),
    "spam.rate_limit": ("3/minute", "3/minute"),
    "spam.pending_limit": ("5/day", "5/day"),
    "spam.keep_spam_days": ("7", 7),
    "comments.votes": ("both", "both"),
    "moderation.edit_minutes": ("60", 60),
    "mail.reply_notifications": ("", False),
    "mail.digest": ("daily", "daily"),
    "mail.language": ("de", "de"),
    "site.policy": ("all", "all"),
    "site.close_days": ("90", 90),
    "site.reactions": ("👍\n🎉", ("👍", "🎉")),
    "site.math": ("1", True),
    "site.views": ("1", True),
    "site.private_notes": ("1", True),
    "site.notices": ("1", True),
    "site.numbers": ("1", True),
    "site.moved_pages": ("", False),
    "site.translations": ("1", True),
    "site.language": ("fr", "fr"),
    "site.title": ("Another blog", "Another blog"),
    "site.contact": ("Ann, Bree", "Ann, Bree"),
    "site.name_field": ("optional", "optional"),
    "site.email_field": ("hidden", "hidden"),
    "site.website_field": ("required", "required"),
    "site.sign_in": ("mail", ("mail",)),
    "site.guidelines": ("Be *kind*.\r\n\r\nThanks.", "Be *kind*.\n\nThanks."),
    "site.agreement": ("I agree", "I agree"),
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as service:
        yield service


@pytest.fixture
def seat(service: Served) -> Seat:
    return seated(service)


def filled(seat: Seat, name: str, site: str = "blog") -> dict[str, str]:
    """Return the fields of a form as the page shows them."""
    page = text(seat.get(f"settings?site={site}"))
    group = next(each for each in GROUPS if any(s.name == name for s in each.settings))
    form = page[page.index(f'name="group" value="{group.name}"') :]
    form = form[: form.index("</form>")]
    fields = dict(
        re.findall(r'<input type="text" id="[^"]*" name="(text[^"]*)" value="([^"]*)"', form)
    )
    fields |= re.findall(r'type="checkbox" name="(text[^"]*)" value="(1)" checked', form)
    fields |= re.findall(r'<textarea [^>]*name="([^"]*)"[^>]*>\n([^<]*)</textarea>', form)
    for choice, options in re.findall(r'(?s)<select [^>]*name="([^"]*)"[^>]*>(.*?)</select>', form):
        fields[choice] = re.findall(r'value="([^"]*)" selected', options)[0]
    fields = {key: html.unescape(value) for key, value in fields.items()}
    seen = re.search(r'name="seen" value="(\d+)"', page)
    assert seen
    return fields | {"group": group.name, "site": site, "seen": seen[1], "password": PASSWORD}


def save(seat: Seat, **changes: str) -> int:
    """Change fields of the form that has them, named as `spam__max_links`; return the status."""
    given = {f"text.{name.replace('__', '.')}": value for name, value in changes.items()}
    fields = filled(seat, next(iter(given)).removeprefix("text."))
    for name, value in given.items():
        fields[name] = value
        if not value and SETTINGS[name.removeprefix("text.")].kind == "switch":
            del fields[name]
    return seat.send("settings", **fields).status


@pytest.mark.sqlite_only("each setting is a row of one table; the other tests change some in both")
@pytest.mark.locked_only("each setting is a row of the same table")
def test_every_setting_is_typed_in_and_comes_back_as_it_was_typed(
    service: Served, seat: Seat
) -> None:
    assert TYPED.keys() | {everyday.ORIGINS} == SETTINGS.keys()
    for name, (typed, value) in TYPED.items():
        service.now += HOUR  # the limit of attempts with a password
        assert save(seat, **{name.replace(".", "__"): typed}) == 303, name
        seat.get("settings")
        site = "blog" if SETTINGS[name].is_of_site else ""
        settings = service.running.settings
        assert everyday.value(settings, (site, name)) == value, name
        assert (
            filled(seat, name).get(f"text.{name}", "")
            == typed.replace("\r\n\r\n ", "\n").replace("\r", "").strip()
        ), name
        assert everyday.value(at_a_start(service), (site, name)) == value
    changes = service.database.read_now(stored_settings.current)
    for change in reversed(changes):
        service.now += HOUR
        undone = seat.send("settings", undo=change.id, password=PASSWORD)
        assert undone.status == 303
    seat.get("settings")
    assert service.running.settings == GIVEN


def test_a_form_of_a_site_that_is_gone_changes_no_other_site(service: Served, seat: Seat) -> None:
    fields = filled(seat, "site.title") | {"site": "gone", "text.site.title": "Mine"}
    answer = seat.send("settings", **fields)
    assert answer.status == 409
    assert "There is no site gone any more." in text(answer)
    assert service.database.read_now(stored_settings.current) == []


def at_a_start(service: Served) -> Settings:
    """Return the settings with which a server would start now."""
    stored = service.database.read_now(stored_settings.values)
    return everyday.apply(service.service.loaded, stored).settings


def test_no_secret_address_or_path_can_be_changed_in_the_browser() -> None:
    forms = [setting for group in GROUPS for setting in group.settings]
    assert {setting.name for setting in forms} == SETTINGS.keys() - {everyday.ORIGINS}
    for setting in forms:
        meta = setting.field.type.__metadata__[0]
        assert not (meta.extra or {}).get("secret"), setting.name
        assert not re.search(r"https?://|path|host|command|network", meta.description), setting.name
        assert not re.search(r"url|file|host|address|token|secret|key\b", setting.name)
        assert setting.name.partition(".")[0] in SECTIONS


def test_a_change_is_in_force_for_the_next_comment(service: Served, seat: Seat) -> None:
    assert data(service.submit(author="Zoe"))["status"] == "approved"
    service.purged.clear()
    assert save(seat, moderation__policy="all") == 303
    assert "*" in service.purged
    assert data(service.submit("Hello", url="/q/", author="Zoe"))["status"] == "pending"
    page = text(seat.get("settings"))
    assert "Approval: All comments wait for approval." in page
    assert save(seat, spam__max_links="5") == 303
    assert "changed here by ann" in text(seat.get("settings"))


def test_what_the_file_sets_is_shown_as_such_and_stays(tmp_path: Path) -> None:
    locations = {
        ("", "spam.max_links"): "/etc/commentsvc.toml:12: spam.max_links",
        ("blog", "site.title"): "COMMENTSVC_SITE_TITLE",
    }
    with served(tmp_path, locations=locations) as service:
        seat = seated(service)
        page = text(seat.get("settings"))
        assert "set in commentsvc.toml, line 12" in page
        assert "set by COMMENTSVC_SITE_TITLE" in page
        assert save(seat, spam__max_links="9", spam__blocked_words="pills") == 303
        assert save(seat, site__title="Other") == 303
        seat.get("settings")
        settings = service.running.settings
        assert (settings.spam.max_links, settings.sites[0].title) == (2, "A blog")
        assert settings.spam.blocked_words == ("pills",)


@pytest.mark.sqlite_only("what is refused never reaches the database")
@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("spam.max_links", "many"),
        ("spam.max_links", "-1"),
        ("spam.max_links", "9" * 5_000),
        ("spam.blocked_words", "\n".join(f"word{n}" for n in range(1_001))),
        ("spam.blocked_words", "x" * 101),
        ("spam.scripts", "klingon"),
        ("site.guidelines", "x" * 2_001),
        ("site.title", "a\x00b"),
        ("site.reactions", "<script>"),
        ("moderation.policy", "nothing"),
        ("site.language", "../../etc"),
    ],
)
def test_an_invalid_value_is_refused_in_the_words_of_the_form(
    service: Served, seat: Seat, name: str, typed: str
) -> None:
    fields = filled(seat, name) | {f"text.{name}": typed}
    answer = seat.send("settings", **fields)
    assert answer.status == 422
    setting, page = SETTINGS[name], html.unescape(text(answer))
    assert f"{setting.label}: “{typed.split()[0][:20]}" in page
    assert f"is not possible. Allowed: {setting.allowed}." in page
    assert name not in page.partition("</header>")[2].partition("<details")[0].replace(
        f"text.{name}", ""
    )
    if name != "site.title":
        assert typed[:50] in page, "what was typed is kept"
    assert not service.database.read_now(stored_settings.current)


@pytest.mark.parametrize("tag", [*moderators_tags()])
def test_a_refusal_is_in_the_language_of_the_moderator(tag: str) -> None:
    with speaking(find_language(tag)):
        for setting in SETTINGS.values():
            with pytest.raises(SettingRefused) as raised:
                setting.parse({"no": "value"})
            said = str(raised.value.text)
            assert str(setting.label) in said
            assert str(setting.allowed) in said
            assert not re.search(r"\b(?:true|string|TOML|a list)\b|[a-z]_[a-z]|%", said), said
    refused = [everyday._CHOICE, everyday._LISTED, *everyday._CONTRADICTS.values()]
    if tag != "en":
        assert all(translate(each, tag) != translate(each) for each in refused)


def test_two_owners_do_not_undo_each_other_silently(service: Served, seat: Seat) -> None:
    other = seated(service, "ben")
    service.database.write_now(profiles.assign, "ben", "owner", [])
    first, second = filled(seat, "spam.max_links"), filled(other, "spam.max_links")
    assert seat.send("settings", **first | {"text.spam.max_links": "5"}).status == 303
    answer = other.send("settings", **second | {"text.spam.blocked_words": "pills"})
    assert answer.status == 409
    assert "ann has changed" in text(answer)
    settings = service.running.settings.spam
    assert (settings.max_links, settings.blocked_words) == (5, ())
    assert save(other, spam__blocked_words="pills") == 303
    # Forms of other settings do not collide.
    old = filled(seat, "comments.votes")
    assert save(other, spam__max_links="6") == 303
    assert seat.send("settings", **old | {"text.comments.votes": "off"}).status == 303


def test_only_the_newest_change_of_a_setting_is_undone(service: Served, seat: Seat) -> None:
    assert save(seat, spam__max_links="5") == 303
    assert save(seat, spam__max_links="6") == 303
    second, first = service.database.read_now(stored_settings.history)
    assert seat.send("settings", undo=first.id, password=PASSWORD).status == 409
    assert "Most links in a comment that does not wait: 5" in text(
        seat.get(f"settings?undo={second.id}")
    )
    assert seat.send("settings", undo=second.id, password=PASSWORD).status == 303
    assert service.database.read_now(stored_settings.history)[1].undone_by == "ann"
    seat.get("settings")
    assert service.running.settings.spam.max_links == 5
    assert "undone by ann" in text(seat.get("settings"))


def test_a_change_takes_the_password_of_an_owner(service: Served, seat: Seat) -> None:
    fields = filled(seat, "spam.max_links") | {"text.spam.max_links": "5"}
    assert seat.send("settings", **fields | {"password": "wrong"}).status == 403
    service.database.write_now(accounts.add, "kim", HASH, 1)
    service.database.write_now(profiles.assign, "kim", "moderator", [])
    kim = Seat(service, "192.0.2.7")
    assert kim.sign_in("kim").status == 303
    assert kim.get("settings").status == 200
    assert kim.send("settings", **fields).status == 403
    assert not service.database.read_now(stored_settings.current)


def try_it(seat: Seat, **changes: str) -> Response:
    """Try changed fields, as `save` saves them, without the password."""
    given = {f"text.{name.replace('__', '.')}": value for name, value in changes.items()}
    fields = filled(seat, next(iter(given)).removeprefix("text."))
    del fields["password"]
    return seat.send("settings", **fields | given | {"try": "1"})


def test_settings_are_tried_before_they_are_saved(service: Served, seat: Seat) -> None:
    service.submit("I sell *bread*", author="Zoe <b>")
    service.submit("Hello", author="Bob")
    before = service.database.read_now(queries.listing, None, 9)
    answer = try_it(seat, spam__blocked_words="bread")
    assert answer.status == 200
    page = text(answer)
    assert "2 comments of the last 30 days were judged with these settings" in page
    assert "waits for approval: 1, with the present settings 0" in page
    assert "published at once → waits for approval: 1" in page
    assert "Zoe &lt;b&gt;" in page
    assert "I sell *bread*" in page
    assert "contains the word “bread”" in page
    assert f'href="comment?id={before[1].comment.id}"' in page
    assert "bread</textarea>" in page, "what was typed is kept"
    assert service.database.read_now(queries.listing, None, 9) == before
    assert not service.database.read_now(stored_settings.current)
    assert "Nothing would be judged differently." in text(try_it(seat, spam__max_links="2"))


def test_what_is_set_elsewhere_or_invalid_is_not_tried(tmp_path: Path) -> None:
    locations = {("", "spam.blocked_words"): "/etc/commentsvc.toml:12: spam.blocked_words"}
    with served(tmp_path, locations=locations) as service:
        seat = seated(service)
        service.submit("bread")
        fields = filled(seat, "spam.max_links") | {"try": "1", "text.spam.blocked_words": "bread"}
        assert "Nothing would be judged differently." in text(seat.send("settings", **fields))
        assert try_it(seat, spam__max_links="many").status == 422
        assert seat.send("settings", **{"try": "1", "group": "gone"}).status == 200


def test_only_owners_try_settings_one_after_the_other(
    service: Served, seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.database.write_now(accounts.add, "kim", HASH, 1)
    service.database.write_now(profiles.assign, "kim", "moderator", [])
    kim = Seat(service, "192.0.2.7")
    assert kim.sign_in("kim").status == 303
    fields = filled(seat, "spam.max_links") | {"try": "1"}
    assert kim.send("settings", **fields).status == 403
    assert seat.send("settings", **fields | {"csrf_token": "forged"}).status == 403
    answers = list[Response]()

    async def nobody_else(*_others: object) -> Tried:
        body = urlencode(fields | {"csrf_token": token}).encode()
        answers.append(await service._answer(request(body)))
        return Tried()

    monkeypatch.setattr(dry_run, "run", nobody_else)
    token, cookie = seat.csrf_token(), "; ".join(f"{n}={v}" for n, v in seat.cookies.items())

    def request(body: bytes) -> Request:
        given = {"host": "comments.example", "cookie": cookie, "sec-fetch-site": "same-origin"}
        given["content-type"] = "application/x-www-form-urlencoded"
        return Request("POST", "/moderation/settings", "", body, "192.0.2.1", given.get)

    assert seat.send("settings", **fields).status == 200
    [refused] = answers
    assert refused.status == 429
    assert "Somebody is trying settings right now." in text(refused)


def test_a_search_finds_forms_by_their_words(seat: Seat) -> None:
    found = text(seat.get("settings?q=emoji+READERS"))
    assert 'name="group" value="site"' in found
    assert 'name="group" value="spam"' not in found
    assert text(seat.get("settings?q=" + "x" * 9_000)).count('name="group"') == 0


def test_a_value_of_another_version_is_left_out(service: Served, seat: Seat) -> None:
    row = {"actor": "ann", "created_at": 1, "old": None}
    table = SettingChangeTable
    rows = [
        row | {"key": key, "new": new}
        for key, new in (("spam.max_links", '"x"'), ("spam.gone", "1"), ("mail.host", '"evil"'))
    ]

    def insert(tx: Transaction) -> None:
        for each in rows:
            tx.change(table.insert(each))

    service.database.write_now(insert)
    stored = service.database.read_now(stored_settings.values)
    assert everyday.apply(service.service.loaded, stored).settings == GIVEN
    assert seat.get("settings").status == 200


def test_old_changes_are_forgotten_but_not_the_values(
    service: Served, seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_settings, "KEPT", 3)
    assert save(seat, spam__blocked_words="pills") == 303
    for number in range(3, 12):
        service.now += HOUR
        assert save(seat, spam__max_links=str(number)) == 303
    assert len(service.database.read_now(stored_settings.history)) == 4
    seat.get("settings")
    assert service.running.settings.spam.blocked_words == ("pills",)


def test_open_streams_and_counted_views_outlive_a_change(
    service: Served, seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, watch = list[bool](), service.publisher.watch

    def spied(changed: Any, concerns: Callable[[Sequence[str]], bool]) -> None:  # Any: as in watch
        known.append(concerns(["thread:blog:/p/"]))
        watch(changed, concerns)

    monkeypatch.setattr(service.publisher, "watch", spied)
    service.get("/api/comments/stream?url=/p/")
    service.views.add(PageRef("blog", "/p/"))
    assert save(seat, comments__votes="off") == 303
    seat.get("settings")
    assert service.running.parts.stream is not service.live
    assert known == [True], "no change in between is missed"
    service.programs.queue.send_changes()
    service.router.handle(
        Request("GET", "/api/comments/stream", "url=/q/", b"", "", lambda _: None)
    )
    assert service.publisher.concerns(["thread:blog:/q/"]), "begun by a request that waited"
    service.running.parts.programs.queue.send_changes()
    service.programs.queue._new.add("queue:1")
    assert service.running.parts.programs.queue._new == {"queue:1"}
    assert service.running.parts.views._counted == service.views._counted != {}


def test_a_change_that_cannot_be_in_force_yet_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(settings_watch, "RETRY_MS", 0)
    key = tmp_path / "key"
    key.write_text("secret")
    judge = JudgeSettings(url="https://judge.example", model="small", key_file=str(key))
    (tmp_path / "data").mkdir()
    with served(tmp_path / "data", msgspec.structs.replace(GIVEN, judge=judge)) as service:
        seat, former = seated(service), service.running.parts
        key.unlink()
        assert save(seat, spam__max_links="5") == 303
        assert seat.get("settings").status == 200
        assert service.running.parts is former
        assert everyday.value(service.running.settings, ("", "spam.max_links")) == 2
        assert "changed settings are not in force yet" in caplog.text
        key.write_text("secret")
        assert seat.get("settings").status == 200
        assert everyday.value(service.running.settings, ("", "spam.max_links")) == 5


def put(service: Served, site: str | None, key: str, new: str) -> None:
    """Store a value as if it had been changed while it was allowed."""
    row = {"actor": "ann", "created_at": 1, "old": None, "site": site, "key": key, "new": new}

    def insert(tx: Transaction) -> None:
        tx.change(SettingChangeTable.insert(row))
        tx.purge(SETTINGS_TAG)

    service.database.write_now(insert)


def test_a_stored_sign_in_that_contradicts_the_file_refuses_a_start(service: Served) -> None:
    put(service, "blog", "site.sign_in", '["mail","required"]')
    site = msgspec.structs.replace(GIVEN.sites[0], comments_by_mail=True)
    mail = MailSettings(host="mail.example", sender="a@blog.example")
    settings = msgspec.structs.replace(
        GIVEN,
        sites=(site, GIVEN.sites[1]),
        mail=mail,
        inbox=InboxSettings(address="c@blog.example"),
        server=ServerSettings(public_url="https://c.example"),
    )
    with pytest.raises(SettingsError, match=r"sign_in of blog .* This site takes comments by mail"):
        SettingsInForce(LoadedSettings(settings)).renew(service.database)
    locations = {("blog", "site.sign_in"): "/etc/commentsvc.toml:12: site.sign_in"}
    SettingsInForce(LoadedSettings(settings, locations)).renew(service.database)


def test_values_that_are_left_out_are_logged_once_with_the_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    locations = {("", "spam.max_links"): "/etc/commentsvc.toml:12: spam.max_links"}
    with served(tmp_path, locations=locations) as service:
        put(service, None, "spam.max_links", "9")
        put(service, None, "moderation.policy", '"of another version"')
        put(service, "gone", "site.title", '"Oaks"')
        for _ in range(2):
            service.running.renew()
            service.database.write_now(lambda tx: tx.purge(SETTINGS_TAG))
    assert len(caplog.messages) == 3
    assert (
        "spam.max_links, changed on the moderation pages, is not in force: It is set in c"
        in caplog.text
    )
    assert "moderation.policy, changed on the moderation pages, is not in force: App" in caplog.text
    assert "gone: site.title, changed on the moderation pages, is not in force" in caplog.text


def test_a_value_that_is_left_out_is_undone(tmp_path: Path) -> None:
    locations = {("", "spam.max_links"): "/etc/commentsvc.toml:12: spam.max_links"}
    with served(tmp_path, locations=locations) as service:
        seat = seated(service)
        put(service, None, "spam.max_links", "9")
        put(service, None, "moderation.policy", '"of another version"')
        page = text(seat.get("settings"))
        assert "that does not wait: 9" in page
        assert "(not in force: It is set in commentsvc.toml, line 12, which has priority.)" in page
        for change in service.database.read_now(stored_settings.current):
            assert seat.send("settings", undo=change.id, password=PASSWORD).status == 303
        assert service.database.read_now(stored_settings.values) == {}
        assert service.running.settings == GIVEN


def test_a_site_is_not_closed_to_everybody(service: Served, seat: Seat) -> None:
    fields = filled(seat, "site.sign_in") | {"text.site.sign_in": "mail\nrequired"}
    answer = seat.send("settings", **fields)
    assert answer.status == 409
    assert "Nobody could write on blog: no way to sign in is set up there." in text(answer)
    assert not service.database.read_now(stored_settings.current)


def test_the_redirect_stays_on_our_pages(seat: Seat) -> None:
    fields = filled(seat, "spam.max_links")
    assert header(seat.send("settings", **fields), "Location") == "settings?site=blog&saved=1"
    assert seat.send("settings", **fields | {"site": "//evil.example"}).status == 409


def test_each_setting_has_its_bounds_from_the_schema() -> None:
    for setting in SETTINGS.values():
        assert isinstance(setting, EverydaySetting)
        if setting.kind == "words":
            kind = msgspec.inspect.type_info(setting.field.type)
            inner = kind.type if isinstance(kind, msgspec.inspect.Metadata) else kind
            assert isinstance(inner, msgspec.inspect.LiteralType)
            assert set(inner.values) == set(setting.words), setting.name
