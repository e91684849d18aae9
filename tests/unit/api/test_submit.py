"""How a submission is processed, from JSON, from forms and without HTTP."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commentsvc.comments.submission import Submission
from commentsvc.db.errors import DatabaseBusy, DatabaseFull
from commentsvc.errors import SubmissionRefused, TooManyPending, UnknownParent
from commentsvc.markup.markdown import render
from commentsvc.settings.schema import ModerationSettings, PrivacySettings, SpamSettings
from tests.unit.app_fixture import SETTINGS, Served, data, faults, served


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    settings = msgspec.structs.replace(SETTINGS, spam=SpamSettings(rate_limit="2/minute"))
    with served(tmp_path, settings) as running:
        yield running


def test_a_client_that_is_too_fast_is_told_when_to_go_on(service: Served) -> None:
    answers = [service.submit(f"number {n}") for n in range(3)]
    assert [answer.status for answer in answers] == [201, 201, 429]
    assert dict(answers[2].headers)["Retry-After"] == "30"
    assert "30 s" in data(answers[2])["error"]["message"]
    assert len(service.stored()) == 2
    service.monotonic += 30
    assert service.submit("once more").status == 201


def test_too_many_comments_of_a_network_that_would_wait_are_refused(tmp_path: Path) -> None:
    spam = SpamSettings(
        rate_limit="1000/minute", pending_limit="2/day", form_token="off", proof_of_work=0
    )
    moderation = ModerationSettings(policy="all")
    settings = msgspec.structs.replace(SETTINGS, spam=spam, moderation=moderation)
    with served(tmp_path, settings) as service:
        answers = [service.submit(f"number {n}") for n in range(3)]
        assert [answer.status for answer in answers] == [202, 202, 429]
        assert dict(answers[2].headers)["Retry-After"] == "43200"
        assert "wait for approval" in data(answers[2])["error"]["message"]
        assert len(service.stored()) == 2


def test_clients_behind_a_proxy_are_told_apart(service: Served) -> None:
    fields = {"url": "/p/", "author": "Ann", "message": "Hi"}
    for n in range(6):
        answer = service.post(
            "/api/comments",
            fields | {"message": str(n)},
            peer="127.0.0.1",
            x_forwarded_for=f"10.9.9.9, 198.51.{n // 2}.7",
        )
        assert answer.status == 201


def test_a_stranger_cannot_pass_the_limit_by_a_header(service: Served) -> None:
    fields = {"url": "/p/", "author": "Ann", "message": "Hi"}
    answers = [
        service.post("/api/comments", fields | {"message": str(n)}, x_forwarded_for=f"10.{n}.0.1")
        for n in range(3)
    ]
    assert [answer.status for answer in answers] == [201, 201, 429]


def test_what_is_invalid_or_foreign_does_not_count_as_fast(service: Served) -> None:
    for _ in range(5):
        assert service.submit("").status == 400
        assert service.submit("Hi", "https://evil.example/").status == 400
    assert service.submit().status == 201


def test_attempts_are_counted_before_they_are_read(service: Served) -> None:
    statuses = [service.submit("").status for _ in range(13)]
    assert statuses == [400] * 12 + [429]
    body = b'{"' + b'x":1,"' * 5_000 + b'y":1}'
    assert service.post("/api/comments", {}).status == 429
    answer = service.ask("POST", "/api/comments", body, content_type="application/json")
    assert answer.status == 429


def test_a_filled_honeypot_is_refused_and_nothing_is_stored(service: Served) -> None:
    answer = service.submit(subject="cheap watches")
    assert (answer.status, data(answer)["error"]["code"]) == (400, "rejected")
    assert service.stored() == []


def verdicts(service: Served) -> list[tuple[Any, ...]]:  # Any: SQLite's columns
    sql = "SELECT status, score, reasons, network FROM comment ORDER BY id"
    return service.database.read_now(lambda snapshot: snapshot.execute(sql).fetchall())


def test_the_verdict_is_stored_and_never_told(service: Served) -> None:
    links = " ".join(f"https://{n}.example/" for n in range(4))
    answers = [service.submit(), service.submit(links)]
    plain, held = verdicts(service)
    assert plain[:3] == ("approved", 3, "no-form-token +3")
    assert held[:3] == ("pending", 8, "links +5 4\nno-form-token +3")
    assert b"links +5" not in answers[1].body
    assert len(held[3]) == 8
    assert held[3] == plain[3]


def test_what_is_filed_as_spam_looks_to_its_author_like_what_waits(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(
        SETTINGS, spam=SpamSettings(blocked_words=("casino",), spam_score=5)
    )
    with served(tmp_path, settings) as service:
        answer = service.submit("A casino.")
        assert (answer.status, data(answer)["status"]) == (202, "pending")
        assert verdicts(service)[0][0] == "spam"


def test_no_network_is_kept_where_none_is_to_be(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, privacy=PrivacySettings(keep_network_days=0))
    with served(tmp_path, settings) as service:
        service.submit()
        assert verdicts(service)[0][3] is None


def test_no_address_is_stored_anywhere(service: Served, tmp_path: Path) -> None:
    fields = {"url": "/p/", "author": "Ann", "message": "Hi"}
    for peer in ("198.51.100.77", "2001:db8:77:77:77::77"):
        assert service.post("/api/comments", fields | {"author": peer[:3]}, peer=peer).status == 201
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for trace in (b"198.51", b"2001:db8", b"\xc6\x33\x64", b"\x20\x01\x0d\xb8"):
        assert trace not in stored


def test_a_page_writes_to_its_own_site_only(service: Served) -> None:
    fields = {"url": "/p/", "author": "Ann", "message": "Hi"}
    page = "https://blog.example"
    assert service.post("/api/comments", fields, origin=page).status == 201
    assert service.post("/api/comments?site=notes", fields, origin=page).status == 403
    assert service.post("/api/comments?site=notes", fields).status == 201
    unknown = service.post("/api/comments?site=other", fields)
    assert (unknown.status, faults(unknown)) == (400, ["site"])
    assert [entry.site for entry in service.stored()] == ["notes", "blog"]


def test_without_edit_time_there_is_no_token(tmp_path: Path) -> None:
    moderation = ModerationSettings(policy="none", edit_minutes=0)
    with served(tmp_path, msgspec.structs.replace(SETTINGS, moderation=moderation)) as service:
        receipt = data(service.submit())
    assert receipt["token"] is receipt["token_expires"] is None


@pytest.mark.parametrize(
    ("error", "code"), [(DatabaseBusy("x"), "busy"), (DatabaseFull("x"), "storage")]
)
def test_a_database_that_cannot_take_more_is_no_fault_of_the_client(
    service: Served, monkeypatch: pytest.MonkeyPatch, error: Exception, code: str
) -> None:
    async def refuse(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(service.database, "write_each", refuse)
        for _ in range(3):
            answer = service.submit()
            assert (answer.status, data(answer)["error"]["code"]) == (503, code)
            assert int(dict(answer.headers)["Retry-After"]) > 0
    for number in range(2):  # they did not count against the limit of two a minute
        assert service.submit(message=f"Text {number}").status == 201


def test_a_mistake_of_ours_after_the_commit_reaches_the_server(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr("commentsvc.api.comments.status", mistaken)
    with pytest.raises(RuntimeError, match="ours"):
        service.submit()


def test_a_message_that_cannot_be_rendered_costs_its_neighbours_nothing(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(text: str, *_: object) -> str:
        if text == "bad":
            raise UnknownParent("ours")
        return render(text)

    monkeypatch.setattr("commentsvc.submissions.renderer.render", fails)
    hi: dict[str, object] = {"url": "/p/", "author": "Ann", "message": "Hi"}
    answers = service.submit_at_once(hi | {"message": "bad"}, hi)
    assert [answer.status for answer in answers] == [400, 201]


def submission(message: str, **fields: Any) -> Submission:  # Any: a field of Submission
    """Return a comment by Ann on /p/ of the blog."""
    plain = Submission(
        page=("blog", "/p/"),
        author="Ann",
        message=message,
        email="",
        avatar="",
        site="",
        parent=None,
        title="",
        key="",
        honeypot="",
        form_token=None,
    )
    return msgspec.structs.replace(plain, **fields)


def test_a_comment_that_comes_without_a_request_meets_the_same_checks(tmp_path: Path) -> None:
    spam = SpamSettings(form_token="off", proof_of_work=0, pending_limit="1/day", max_links=1)
    links = "https://one.example/ https://two.example/ {}"

    async def scene(running: Served) -> None:
        submit = running.submissions.submit
        first = await submit(submission("Hello *you*"), b"one")
        assert (first.comment.status, first.comment.html) == (
            "approved",
            "<p>Hello <em>you</em></p>\n",
        )
        assert first.token
        waits = await submit(submission(links.format(1)), b"one")
        assert waits.comment.status == "pending"
        with pytest.raises(TooManyPending) as full:
            await submit(submission(links.format(2)), b"one")
        assert full.value.retry_after == 86_400
        with pytest.raises(SubmissionRefused):
            await submit(submission("Watches", honeypot="filled"), b"two")

    with served(tmp_path, msgspec.structs.replace(SETTINGS, spam=spam)) as running:
        asyncio.run(scene(running))
        assert [entry.comment.source for entry in running.stored()] == [
            links.format(1),
            "Hello *you*",
        ]


@pytest.mark.parametrize("turns", [1, 2])  # before and after it waits for the writer
def test_whoever_stops_waiting_for_a_submission_leaves_no_error(
    service: Served, turns: int
) -> None:
    async def scene() -> list[str]:
        reported: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, about: reported.append(about["message"]))
        waiting = asyncio.ensure_future(service.submissions.submit(submission("Hi"), b"one"))
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting.cancel()
        await service.submissions.submit(submission("Hi again"), b"one")
        return reported

    assert asyncio.run(scene()) == []
    assert len(service.stored()) == turns
