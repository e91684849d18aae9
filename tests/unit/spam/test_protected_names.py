"""Nobody can write under a moderator's name, in any way or spelling."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from commentsvc.auth import accounts
from commentsvc.db.connection import Snapshot
from commentsvc.db.database import Database
from commentsvc.db.schema.mentions import REPLY
from commentsvc.mentions.comments import MentionComments
from commentsvc.mentions.html_page import FoundMention
from commentsvc.mentions.store import Mention
from commentsvc.moderation import lists, profiles
from commentsvc.readers import accounts as readers
from commentsvc.settings.schema import MailSettings, ModerationSettings, Settings, Site
from commentsvc.spam import protected_names
from commentsvc.spam.protected_names import ProtectedNames, name_skeletons
from tests.unit.app_fixture import NOW, SETTINGS, Served, served
from tests.unit.database_fixture import opened

ROSA = "rosa@blog.example"
# Each of these looks like Rosa Miller on a page.
IMITATIONS = (
    "Rosa Miller",
    "rosa miller",
    "ROSA  MILLER",
    "RosaMiller",
    "R o s a Miller",
    "Rosa Miller.",
    "@Rosa_Miller",
    "Rosa MiIIer",  # I for l
    "Rosa M1ller",
    "R0sa Miller",
    "Rosa Mi||er",
    "Rosa \u039ciller",  # Greek
    "R\u043e\u0455\u0430 Mill\u0435r",  # Cyrillic
    "\uff32\uff4f\uff53\uff41 Miller",  # full width
    "\U0001d411\U0001d428\U0001d42c\U0001d41a Miller",  # mathematical
    "\u024f\u200dRosa Miller"[1:],
    "Ro\u200bsa\u2060 Mil\u00adler",  # invisible characters
    "R\u00f3s\u0101 M\u00efller",
    "Ro\u0301sa Miller",
    "\u24c7osa Miller",  # circled
    "\U0001f161osa Miller",
    "\U0001f1f7\U0001f1f4\U0001f1f8\U0001f1e6 Miller",  # as flags
    "\u0280\u1d0f\ua731\u1d00 \u1d0d\u026a\u029f\u029f\u1d07\u0280",  # small capitals
    "Rosa Miller \u2714",
    "Rosa Miller \U0001f451",
    "Rosa Miller (owner)",
    "[Owner] Rosa Miller",
    "Rosa Miller | Moderator",
    "Rosa Miller - Owner",
    "Owner: Rosa Miller",
    "".join(f"{letter}\u0336" for letter in "Rosa Miller"),  # struck through
    "".join(f"{letter}\u20e0" for letter in "Rosa Miller"),
    "\u024c\u00f8\u0455\u2c65 Mi\u0142\u0142\u0247\u024d",  # letters with a stroke
    "\u1e5a\u1ecd\u1e63\u1ea1 Mill\u0119r",
    "".join(chr(0x1CCD6 + ord(each) - ord("A")) for each in "ROSAMILLER"),  # outlined
    "\U0001f141\U0001f13e\U0001f142\U0001f130 Miller",  # squared
    "\U0001f181\U0001f17e\U0001f182\U0001f170 Miller",
    # Gothic
    "\U00010342\U00010349\U00010343\U00010330"
    " \U0001033c\U00010339\U0001033b\U0001033b\U00010334\U00010342",
    "\U00010313\U0001030f\U00010314\U00010300 Miller",  # Old Italic
    "\u16b1\u16df\u16cb\u16a8 \u16d7\u16c1\u16da\u16da\u16d6\u16b1",  # runes
    "\u13d2\u13be\u13d5\u13aa Miller",  # Cherokee
    "\ua4e3\ua4f3\ua4e2\ua4ee Miller",  # Lisu
    "\u2ca2\u2c9e\u2ca4\u2c80 Miller",  # Coptic
    "\u0279os\u0250 Miller",  # turned
    "\u5c3a\u53e3\u4e02\u5342 \u4ece\u5de5\u4e5a\u4e5a\u4e47\u5c3a",
    "\u1587O\u1515\u15e9 \u15f0I\u14aa\u14aaE\u1587",
    "\ua2ea\ua0a6\ua317\ua34f Miller",
    "\u2c64\u00d8\u20b4\u20b3 \u20a5\u0142\u2c60\u2c60\u0246\u2c64",
    "The Rosa Miller",
    "Rosa Miller Team",
    "Webmaster Rosa Miller",
    "Team Rosa Miller",
    "Rosa Miller's Team",
    "Rosa Miller \u2013 author",
    "Author Rosa Miller",
    "the real Rosa Miller",
    "Rosa Miller (the owner)",
    "Official_Rosa_Miller",
    "RosaMillerOfficial",
    "AdminRosaMiller",
    "rosa.miller.admin",
    "Rosa Miller \u00c9quipe",
    "Equipo Rosa Miller",
    "Redaktion Rosa Miller",
    "Team of Rosa Miller",
    "L\u2019\u00e9quipe de Rosa Miller",
    "Dr. Rosa Miller",
    "Ro\u3164sa Mi\uffa0ller",  # letters that show nothing
    "Rosa\u2800Miller",
    "Rosa Miller, Inhaberin",
    "\u0410\u0432\u0442\u043e\u0440 Rosa Miller",
    "Rosa Miller\u5b98\u65b9",
    "\u7ba1\u7406\u5458 Rosa Miller",
    "Rosa Miller \u516c\u5f0f",
    "\U00010342\U00010349\U00010343\U00010330 Miller Team",
    "Ros@ Miller",  # signs and digits for letters
    "Ro$a Mi!!er",
    "R0s4 M1ll3r",
    "The Ro5a Miller",
    "Miller, Rosa",  # the other way round
    "Miller Rosa",
    "MILLER Rosa \u2714",
    "Miller, Ro$a",
    "Rosa Miller 2",
    "Rosa_Miller_2",
    "Rosa Miller's assistant",
    "Rosa Miller Bot",
)
NO_ACCOUNTS = Mock(spec=Snapshot)
NO_ACCOUNTS.query.return_value = []
OTHERS = (
    "Rosa",
    "Miller",
    "Rosa Millers",
    "Rosa-Luise Miller",
    "Rosalind Miller",
    "Ros Amiller Jr",
    "The Miller",
    "Team Rosa",
    "Rosa Miller-Lang",
    "Rosa M\u00f6ller",
    "\u5f20\u4f1f",
    "\u0e2a\u0e21\u0e0a\u0e32\u0e22",
)
# Readers whose names only begin or end like one of these, or like a word for a role.
INNOCENT = {
    "Ann": (
        "Anni3",
        "Ann4ka",
        "Joe 2",
        "Theo",
        "Anna",
        "Anne",
        "Annika",
        "Hanna",
        "Joann",
        "Deanna",
        "Ann-Kathrin",
        "Ann Bo",
    ),
    "Leo": ("Leopold", "Theo", "Eleonore", "Galileo", "The Lion", "Team Leonie", "L. E. Owner"),
    "Max": ("Maxim", "Teamax Ltd", "Climax", "Max Mod\u00e9r", "Dermax", "Real Maxi"),
    "Boer": ("De Boer", "Van Boer", "Drboer Jansen"),
    "Bea": ("Beate Am", "Bea Teamann", "Beatrice", "Thebea Jones"),
    "The Editor": ("Theo Ditor", "Ann", "Thea", "Ed Itor", "The Author"),
    "Team": ("Steam", "Tea Moore", "Official"),
    "\u674e\u96f7": ("\u674e", "\u96f7\u674e", "\u674e\u5b98\u65b9", "\u674e\u96f7\u9706"),
    "Ren\u00e9": ("Renate", "Irene", "The Renegade", "Ren\u00e9e"),
}


def test_innocent_names_do_not_wait() -> None:
    for protected, readers_names in INNOCENT.items():
        held = [name for name in readers_names if _names(protected).check(name, "", "")]
        assert held == [], protected


def test_what_looks_like_a_protected_name_is_found() -> None:
    names = _names("Rosa Miller")
    for name in IMITATIONS:
        signal = names.check(name, "", "")
        assert signal, name
        assert (signal.reason, signal.about) == ("protected-name", "Rosa Miller")


@pytest.mark.parametrize("name", OTHERS)
def test_who_is_called_nearly_so_is_not_found(name: str) -> None:
    assert _names("Rosa Miller").check(name, "", "") is None


@pytest.mark.parametrize(
    ("protected", "imitations", "others"),
    [
        ("Вова", ("вова", "Boвa", "ВОВА"), ("Вера",)),
        ("Iris", ("lris", "IRlS", "1ris", "\u0130ris"), ("Ines",)),
        ("Müller", ("Muller", "MÜLLER", "Mu\u0308ller"), ("Möller",)),
        ("Marnie", ("Mamie", "MARNIE"), ("Marie",)),
        ("李雷", ("李 雷",), ("李",)),
        ("☕", ("☕",), ("☕☕", "🍵")),
        ("Jean-Luc", ("Jean Luc", "jeanluc"), ("Jean", "Luc")),
    ],
)
def test_names_of_all_scripts_are_compared(
    protected: str, imitations: tuple[str, ...], others: tuple[str, ...]
) -> None:
    names = _names(protected)
    assert all(names.check(name, "", "") for name in (protected, *imitations))
    assert not any(names.check(name, "", "") for name in others)


def test_an_address_is_protected_as_address_digest_and_name() -> None:
    names = _names("Rosa Miller", ROSA)
    digest = hashlib.md5(ROSA.encode(), usedforsecurity=False).hexdigest()
    for given in (("Ann", ROSA, ""), ("Ann", "ROSA@Blog.Example", ""), ("Ann", "", digest)):
        signal = names.check(*given)
        assert signal
        assert signal.reason == "protected-address"
    assert names.check("rosa@bIog.example", "", "")
    assert names.check("Ann", "ann@blog.example", "0" * 32) is None


def test_without_protected_names_nothing_is_found() -> None:
    assert _names().check("Rosa Miller", ROSA, "") is None


def test_no_plain_name_needs_the_table_of_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protected_names, "_prototypes", lambda: pytest.fail("it is loaded"))
    assert _names("Rosa Miller").check("Rosa M. Miller", "ann@blog.example", "") is None


def test_the_moderators_of_the_mail_settings_are_protected(tmp_path: Path) -> None:
    settings = replace(SETTINGS, mail=MailSettings(moderators=(ROSA,)))
    with opened(tmp_path) as database:
        assert _loaded(settings, database).check("Ann", ROSA, "")


# All ways to submit, each with a name and an address; what is stored must be in the queue.


def by_json(service: Served, author: str, email: str) -> int:
    return service.submit(author=author, email=email).status


def by_form(service: Served, author: str, email: str) -> int:
    form = {"url": "/p/", "author": author, "message": "Hi", "email": email}
    return service.form("/embed/thread", urlencode(form)).status


def by_stacosys_form(service: Served, author: str, email: str) -> int:
    form = {"url": "/p/", "author": author, "message": "Hi", "email": _digest(email)}
    return service.form("/newcomment", urlencode(form)).status


def by_stacosys_json(service: Served, author: str, email: str) -> int:
    sent = {"url": "/p/", "author": author, "message": "Hi", "email": _digest(email)}
    return service.post("/comments", sent).status


def by_isso(service: Served, author: str, email: str) -> int:
    sent = {"author": author, "text": "Hi!", "email": email}
    return service.post("/isso/new?uri=/p/", sent).status


def by_waline(service: Served, author: str, email: str) -> int:
    sent = {"nick": author, "comment": "Hi", "mail": email, "url": "/p/", "ua": ""}
    return service.post("/waline/api/comment?lang=en", sent, origin=BLOG).status


def by_artalk(service: Served, author: str, email: str) -> int:
    sent = {"name": author, "content": "Hi", "email": email, "page_key": "/p/", "site_name": "x"}
    return service.post("/artalk/api/v2/comments", sent, origin=BLOG).status


def by_mention(service: Served, author: str, _email: str) -> int:
    shown = MentionComments(service.service, service.submissions)
    number = len(service.stored()) + 1
    mention = Mention(number, "blog", "/p/", f"https://x.example/{number}", BLOG, "", None, 0, 0)
    asyncio.run(shown.show(mention, FoundMention(REPLY, author, "", "Hi"), int(NOW * 1_000)))
    return 202


Submit = Callable[[Served, str, str], int]
SUBMITS: tuple[Submit, ...] = (
    by_json,
    by_form,
    by_stacosys_form,
    by_stacosys_json,
    by_isso,
    by_waline,
    by_artalk,
    by_mention,
)
BLOG = "https://blog.example"
OPEN = replace(
    SETTINGS,
    sites=(
        Site(
            origins=(BLOG,),
            title="A blog",
            isso=True,
            waline=True,
            artalk=True,
            sign_in=("mail",),
        ),
    ),
    moderation=ModerationSettings(policy="none", protected_names=("The Blog",)),
)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    """A service that moderates nothing, with the moderator rosa, called Rosa Miller.

    Eva Vogt is a reader who has signed in.
    """
    with served(tmp_path, OPEN) as service:
        service.database.write_now(accounts.add, "rosa", "hash", int(NOW * 1_000))
        profile = service.database.read_now(profiles.named, "rosa")
        changed = replace(profile, public_name="Rosa Miller", email=ROSA)
        service.database.write_now(profiles.save, changed)
        eva = ("blog", ("mail", "eva@home.example"), "eva@home.example", int(NOW * 1_000))
        who = service.database.write_now(readers.identified, *eva)
        service.database.write_now(readers.choose_name, who, "Eva Vogt", name_skeletons("Eva Vogt"))
        yield service


IMITATED = (
    ("Rosa Miller", ""),
    ("r\u043esa mi||er", ""),
    ("rosa", ""),
    ("The  BLOG", ""),
    ("EVA  V0gt", "eva@home.example"),
    ("Ann", "Rosa@Blog.example"),
)


@pytest.mark.parametrize("submit", SUBMITS)
def test_an_imitation_waits_whatever_way_it_comes(service: Served, submit: Submit) -> None:
    imitated = IMITATED[:-1] if submit is by_mention else IMITATED  # it has no address
    for number, (author, email) in enumerate(imitated, 1):
        assert submit(service, author, email) in (202, 302, 200)
        comment = service.stored()[0].comment
        assert (comment.id, comment.status, comment.role) == (number, "pending", "")
        assert comment.reader_id is None
        verdict = service.database.read_now(lists.verdicts_of, [number])[number]
        assert "protected" in " ".join(verdict.reasons)
    submit(service, "Ben", "ben@blog.example")
    assert service.stored()[0].comment.status == "approved"


def test_a_new_name_is_protected_from_its_acknowledgement_on(service: Served) -> None:
    assert service.submit(author="Zoe", message="1").status == 201
    profile = service.database.read_now(profiles.named, "rosa")
    service.database.write_now(profiles.save, replace(profile, public_name="Zoe"))
    assert service.submit(author="Zoe", message="2").status == 202
    assert service.submit(author="Rosa Miller", message="3").status == 201


def test_an_imitation_that_was_approved_waits_again_with_another_text(service: Served) -> None:
    sent = json.loads(service.submit(author="Ann", message="Hi").body)
    profile = service.database.read_now(profiles.named, "rosa")
    service.database.write_now(profiles.save, replace(profile, public_name="Ann"))
    edited = service.ask(
        "PATCH",
        "/api/comments/1",
        json.dumps({"message": "As the owner I say"}).encode(),
        content_type="application/json",
        authorization=f"Bearer {sent['token']}",
    )
    assert json.loads(edited.body)["status"] == "pending"


@pytest.mark.parametrize("field", ["role", "pinned", "moderator_id"])
def test_nobody_sends_a_badge_along(service: Served, field: str) -> None:
    assert service.submit(author="Ann", **{field: "owner"}).status == 400


def _names(*texts: str) -> ProtectedNames:
    """Return the names in the settings alone."""
    names = ProtectedNames(replace(SETTINGS, moderation=ModerationSettings(protected_names=texts)))
    names.load(NO_ACCOUNTS)
    return names


def _loaded(settings: Settings, database: Database) -> ProtectedNames:
    names = ProtectedNames(settings)
    database.read_now(names.load)
    return names


def _digest(email: str) -> str:
    digest = hashlib.md5(email.strip().lower().encode(), usedforsecurity=False)
    return digest.hexdigest() if email else ""
