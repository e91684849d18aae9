"""The link that makes the first account: once, within an hour, where nobody can read it."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from commentsvc.auth import first_owner
from commentsvc.db.schema.comments import ModeratorTable
from commentsvc.db.schema.outbox import UsedLinkTable
from commentsvc.http.messages import Response
from commentsvc.moderation import profiles
from commentsvc.settings.schema import MailSettings
from commentsvc.util.timestamps import HOUR_MS
from tests.unit.admin_client import Seat, employ, header, text
from tests.unit.app_fixture import SETTINGS, Served, served, waiting

MAIL = MailSettings(host="mail.example", sender="c@mail.example")
NEW = {"name": "ann", "password": "a good new password", "again": "a good new password"}
HTTPS = {"x_forwarded_for": "198.51.100.7", "x_forwarded_proto": "https"}
PLAIN = {"x_forwarded_for": "198.51.100.7", "x_forwarded_proto": "http"}


class Person(Seat):
    """A browser that comes through the proxy, or as `fields` say."""

    def __init__(self, service: Served, peer: str = "", **fields: str) -> None:
        super().__init__(service, peer)
        self.fields = fields or HTTPS

    def get(self, page: str, **headers: str) -> Response:
        """Request a page."""
        return super().get(page, **self.fields, **headers)

    def make(self, token: str, **changed: object) -> Response:
        """Send the form of the link."""
        fields = {"csrf_token": self.csrf_token(), "t": token, **NEW, **changed}
        return self.post("owner", fields, **self.fields)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as service:
        yield service


def link(service: Served) -> str:
    """Return the token of a new link."""
    return first_owner.make(service.links.keys, service.clock.now_ms())


def names(service: Served) -> list[tuple[str, str]]:
    return [(each.name, each.role) for each in service.database.read_now(profiles.everyone)]


def test_the_link_makes_one_owner_who_is_signed_in(service: Served) -> None:
    token, ann = link(service), Person(service)
    assert "will be the owner of the comments of A blog" in text(ann.get(f"owner?t={token}"))
    made = ann.make(token)
    assert (made.status, header(made, "Location")) == (303, "account")
    assert ann.is_signed_in()
    assert names(service) == [("ann", "owner")]


def test_no_link_works_once_there_is_an_account(service: Served) -> None:
    used, other = link(service), link(service)
    first = Person(service)
    first.get(f"owner?t={other}")
    assert first.make(used).status == 303
    for token in (used, other, link(service)):
        late = Person(service)
        assert late.get(f"owner?t={token}").status == 410
        assert late.make(token, name="eve").status == 410
    assert names(service) == [("ann", "owner")]


def test_a_used_link_stays_used_when_the_account_is_gone(service: Served) -> None:
    token = link(service)
    Person(service).make(token)
    service.database.write_now(lambda tx: tx.change(ModeratorTable.delete()))
    assert Person(service).get(f"owner?t={token}").status == 410
    assert Person(service).make(token).status == 410
    assert Person(service).make(link(service)).status == 303


def test_the_link_ends_after_an_hour_and_others_are_none(service: Served) -> None:
    token = link(service)
    service.now += HOUR_MS / 1_000 - 1
    assert Person(service).get(f"owner?t={token}").status == 200
    service.now += 1
    assert Person(service).get(f"owner?t={token}").status == 410
    assert Person(service).make(token).status == 410
    expires = service.clock.now_ms() + HOUR_MS
    for foreign in (
        "",
        "x" * 40,
        "x" * 4_000,
        service.links.make("invitation", 1, 1, "", expires=expires),
        first_owner.make([b"another key" * 9], service.clock.now_ms()),
    ):
        assert Person(service).get(f"owner?t={foreign}").status == 410
        assert Person(service).make(foreign).status == 410
    assert not names(service)


@pytest.mark.parametrize(
    ("peer", "fields"),
    [
        ("127.0.0.1", {"host": "localhost:8080"}),
        ("127.0.0.1", {"host": "127.0.0.1:8080", "sec_fetch_site": "same-origin"}),
        ("::1", {"host": "[::1]:8080"}),
        ("", {"host": "localhost:8080"}),  # ssh -L to the unix socket
        ("172.17.0.1", {"host": "localhost:8080"}),  # a container's port on this machine
        ("", HTTPS),
        ("127.0.0.1", HTTPS),
        ("127.0.0.1", {"x_forwarded_for": "198.51.100.7"}),  # the browser says it
    ],
)
def test_the_link_works_over_https_and_on_the_own_machine(
    service: Served, peer: str, fields: dict[str, str]
) -> None:
    token, ann = link(service), Person(service, peer, **fields)
    assert ann.get(f"owner?t={token}").status == 200
    assert ann.make(token).status == 303


@pytest.mark.parametrize(
    ("peer", "fields"),
    [
        ("", PLAIN),
        ("127.0.0.1", PLAIN),
        ("127.0.0.1", PLAIN | {"host": "localhost"}),
        ("198.51.100.7", {"host": "comments.example"}),
        ("198.51.100.7", HTTPS),  # it is no proxy of ours
        ("8.8.8.8", {"host": "localhost"}),
        ("10.0.0.7", {"host": "10.0.0.1:8080"}),
    ],
)
@pytest.mark.parametrize("by_form", [False, True])
def test_a_link_that_came_as_plain_text_ends(
    service: Served, peer: str, fields: dict[str, str], by_form: bool
) -> None:
    token, seat = link(service), Person(service, peer, **fields)
    answer = seat.make(token) if by_form else seat.get(f"owner?t={token}")
    assert answer.status == 403
    assert "over https:// or on localhost" in text(answer)
    assert not names(service)
    assert Person(service).get(f"owner?t={token}").status == 410, "others may have read it"
    assert Person(service).make(token).status == 410
    assert Person(service).make(link(service)).status == 303


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "a b"}, "1 to 40 letters"),
        ({"again": "another good one"}, "passwords differ"),
        ({"password": "short", "again": "short"}, "12 to 200 characters"),
        ({"email": "ann"}, "is not an email address"),
    ],
)
def test_a_mistake_leaves_the_link_usable(
    service: Served, fields: dict[str, str], message: str
) -> None:
    token, ann = link(service), Person(service)
    refused = ann.make(token, **fields)
    assert refused.status == 422
    assert message in text(refused)
    assert token in text(refused), "the form is shown again"
    assert ann.make(token).status == 303


def test_guesses_are_limited(service: Served) -> None:
    guest = Person(service)
    answers = {guest.make("guess", name=str(number)).status for number in range(21)}
    assert answers == {410, 429}


def test_an_address_counts_after_its_owner_has_confirmed_it(tmp_path: Path) -> None:
    with served(tmp_path, msgspec.structs.replace(SETTINGS, mail=MAIL)) as service:
        ann = Person(service)
        made = ann.make(link(service), email="ann@mail.example")
        assert header(made, "Location") == "account?done=asked"
        profile = service.database.read_now(profiles.named, "ann")
        assert (profile.email, profile.is_verified) == ("", False)
        [row] = waiting(service)
        assert row.kind == "confirm-address"


def test_the_database_holds_nothing_of_a_link_but_the_digest_of_a_used_one(
    service: Served,
) -> None:
    token = link(service)
    digests = UsedLinkTable.select(UsedLinkTable.digest)
    assert not service.database.read_now(lambda snapshot: [*snapshot.query(digests)])
    Person(service).make(token)
    [(digest,)] = service.database.read_now(lambda snapshot: [*snapshot.query(digests)])
    assert len(digest) == 16


def test_the_page_for_signing_in_names_the_link_while_there_is_no_account(
    service: Served,
) -> None:
    assert "the link that the service wrote" in text(Person(service).get("sign-in"))
    employ(service)
    assert "the link that the service wrote" not in text(Person(service).get("sign-in"))
