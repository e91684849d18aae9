"""Moderation policies, trusted authors and bans, as submissions over the API meet them."""

from pathlib import Path

import msgspec
import pytest

from commentsvc.moderation import changes
from commentsvc.readers import accounts
from commentsvc.settings.schema import ModerationSettings
from commentsvc.spam import bans, training
from commentsvc.spam.policy import approved_of
from commentsvc.spam.protected_names import name_skeletons
from tests.unit import database_fixture
from tests.unit.app_fixture import SETTINGS, Served, served
from tests.unit.database_fixture import add, plan

LINKS = " ".join(f"https://{n}.example/" for n in range(4))


def send(service: Served, message: str, **fields: str) -> str:
    """Submit to the page /p/; return what became of it."""
    service.monotonic += 3_600
    assert service.submit(message, "/p/", **fields).status in (201, 202)
    return service.stored()[0].comment.status


def on_notes(service: Served, message: str, **fields: str) -> None:
    body = {"url": "/p/", "author": "Ann", "message": message} | fields
    assert service.post("/api/comments?site=notes", body).status in (201, 202)


@pytest.mark.parametrize(
    ("policy", "plain", "links"),
    [
        ("all", "pending", "pending"),
        ("first", "pending", "pending"),
        ("suspicious", "approved", "pending"),
        ("none", "approved", "approved"),
    ],
)
def test_a_policy_says_what_waits(tmp_path: Path, policy: str, plain: str, links: str) -> None:
    moderation = ModerationSettings(policy=policy)  # type: ignore[arg-type] # a Literal
    with served(tmp_path, msgspec.structs.replace(SETTINGS, moderation=moderation)) as service:
        assert send(service, "Hello") == plain
        assert send(service, LINKS) == links


def test_the_filter_that_moderators_taught_judges_unless_it_is_off(tmp_path: Path) -> None:
    for switch, expected in ((True, "spam"), (False, "approved")):
        spam = msgspec.structs.replace(
            SETTINGS.spam, bayes=switch, form_token="off", proof_of_work=0
        )
        folder = tmp_path / str(switch)
        folder.mkdir()
        with served(folder, msgspec.structs.replace(SETTINGS, spam=spam)) as service:
            for text, to in (("cheap casino pills bonus", "spam"), ("nice bread", "approved")):
                for _ in range(training.LEAST):
                    one = add(service.database, status="pending", source=text)
                    database_fixture.decide(service.database, to, one.comment.id)
            assert send(service, "Cheap pills! A casino bonus!") == expected


def test_a_site_may_have_a_policy_of_its_own(tmp_path: Path) -> None:
    sites = (msgspec.structs.replace(SETTINGS.sites[0], policy="all"), *SETTINGS.sites[1:])
    with served(tmp_path, msgspec.structs.replace(SETTINGS, sites=sites)) as service:
        assert send(service, "Hello") == "pending"
        on_notes(service, "Hello")
        assert [entry.site for entry in service.stored()] == ["notes", "blog"]
        assert service.stored()[0].comment.status == "approved"


def decide(service: Served, to: str) -> None:
    ids = [service.stored()[0].comment.id]
    service.database.write_now(changes.change, ids=ids, to=to, who="Mo", now=0)


def test_trust_is_earned_by_approved_comments_of_the_same_author(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(
        SETTINGS, moderation=ModerationSettings(policy="first", trust_after=2)
    )
    ann = {"author": "Ann", "email": "ann@a.example"}
    with served(tmp_path, settings) as service:
        for number in range(2):
            assert send(service, f"Hello {number}", **ann) == "pending"
            decide(service, "approved")
        assert send(service, "Hello again", **ann) == "approved"
        assert send(service, LINKS, **ann) == "pending", "she is trusted, her links are not"
        assert send(service, "I am Ann", author="Ann") == "pending"
        assert send(service, "I am Ann", author="Ann", email="x@a.example") == "pending"
        assert send(service, "I know Ann", author="Eve", email="ann@a.example") == "pending"
        on_notes(service, "Hello", **ann)
        assert service.stored()[0].comment.status == "pending", "on this site she is new"
        service.database.write_now(changes.change, ids=[1], to="spam", who="Mo", now=0)
        service.database.write_now(changes.change, ids=[3], to="spam", who="Mo", now=0)
        assert send(service, "And again", **ann) == "pending"


@pytest.mark.parametrize("policy", ["all", "first"])
def test_comments_of_a_trusted_reader_wait_only_if_a_spam_rule_objects(
    tmp_path: Path, policy: str
) -> None:
    site = msgspec.structs.replace(SETTINGS.sites[0], sign_in=("mail",))
    moderation = ModerationSettings(policy=policy, trust_after=9)  # type: ignore[arg-type] # a Literal
    server = msgspec.structs.replace(SETTINGS.server, public_url="https://comments.example")
    settings = msgspec.structs.replace(
        SETTINGS, sites=(site,), moderation=moderation, server=server
    )
    with served(tmp_path, settings) as service:
        write = service.database.write_now
        who = write(accounts.identified, "blog", ("mail", "ann@a.example"), "ann@a.example", 0)
        write(accounts.choose_name, who, "Ann", name_skeletons("Ann"))
        token = write(accounts.begin_session, who.id, service.clock.now_ms())

        def said(message: str) -> str:
            service.monotonic += 3_600
            body = {"url": "/p/", "author": "Ann", "message": message}
            answer = service.post("/api/comments", body, authorization=f"Bearer {token}")
            assert answer.status in (201, 202), answer.body
            print(
                service.database.read_now(
                    lambda s: s.query(
                        __import__(
                            "commentsvc.db.schema.comments"
                        ).db.schema.comments.CommentTable.select(
                            __import__(
                                "commentsvc.db.schema.comments"
                            ).db.schema.comments.CommentTable.reasons
                        )
                    )
                )
            )
            return service.stored()[0].comment.status

        assert said("Hello") == "pending"
        write(accounts.set_trust, who.id, "Mo", 1)
        assert said("Hello again") == "approved"
        assert said(LINKS) == "pending"
        typed = {"author": "Ann", "email": "ann@a.example"}
        assert send(service, "I typed the name and the address", **typed) == "pending"
        write(bans.add, kind="author", value="Ann", who="Mo", now=0)
        assert said("Hello as before") == "spam"
        write(bans.remove, ban_id=1)
        write(accounts.set_trust, who.id, "", 2)
        assert said("Hello for the last time") == "pending"


def test_nobody_earns_trust_without_an_address(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, moderation=ModerationSettings(policy="first"))
    with served(tmp_path, settings) as service:
        send(service, "Hello")
        decide(service, "approved")
        assert send(service, "Hello again") == "pending"


def test_a_ban_is_met_by_the_next_submission_and_lifted_as_fast(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        assert send(service, "Hello 1") == "approved"
        write = service.database.write_now
        ban = write(bans.add, kind="author", value="ann", who="Mo", now=0)
        answer = service.submit("Hello 2", "/p/")
        assert answer.status == 202, "who is banned is not told"
        [entry, *_] = service.stored()
        assert entry.comment.status == "spam"
        write(bans.remove, ban_id=ban)
        assert send(service, "Hello 3") == "approved"


def test_a_ban_of_a_network_meets_all_its_addresses(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        service.submit("Hello", "/p/")
        value = service.database.read_now(bans.network_of, comment_id=1)
        service.database.write_now(bans.add, kind="network", value=value, who="Mo", now=0)
        assert send(service, "Hello again") == "spam"


@pytest.mark.sqlite_only("it looks at SQLite's plan")
def test_trust_is_looked_up_by_its_index(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        steps = plan(service.database, approved_of, "a@b.example", "blog", "Ann", 9, 1)
    assert any(
        "INDEX comment_by_email_key (email_key=? AND site_id=? AND rowid<?)" in step
        for step in steps
    ), steps
