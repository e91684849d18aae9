"""Our own export, imported into an empty service and exported again, is the same byte for byte."""

import contextlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commentsvc.backup import integrity
from commentsvc.cli import client, main, running
from commentsvc.comments import create, images, queries, site_rows
from commentsvc.comments.page_urls import PageRef, UrlError
from commentsvc.db.database import Database
from commentsvc.errors import CommentsError
from commentsvc.exports import contents, ndjson
from commentsvc.exports.output import Output
from commentsvc.feedback import reactions, reports, views, votes
from commentsvc.feedback.reactions import Reaction
from commentsvc.imports.store import store
from commentsvc.markup import image_names
from commentsvc.model import APPROVED, DELETED
from commentsvc.moderation import changes, pins, retention, stored_settings, threads, undo
from commentsvc.moderation.stored_settings import Change
from commentsvc.readers import accounts, follows, subscriptions
from commentsvc.settings.loader import LoadedSettings
from commentsvc.settings.schema import DatabaseSettings, Settings
from commentsvc.spam import bans
from commentsvc.spam.protected_names import name_skeletons
from commentsvc.util.clock import SYSTEM_CLOCK
from tests.unit.database_fixture import HOUR, NOW, add, decide, forget, location, new, opened
from tests.unit.exports.test_contents import fill, sign_in
from tests.unit.imports.import_samples import DISQUS, GISCUS
from tests.unit.imports.store.test_store import add_moderator, whose

IMAGE = image_names.name(b"RIFF red", 4, 3)
SETTINGS = '[[site]]\norigins = ["https://blog.example"]\n[[site]]\nname = "other"\n'


def exported(database: Database) -> bytes:
    file = io.BytesIO()
    output = Output(file)

    def write(reader: object) -> None:
        ndjson.write(contents.records(reader, contents.Selection()), output)  # type: ignore[arg-type] # a Reader

    database.read_now(write)
    output.flush()
    return file.getvalue()


@pytest.fixture(autouse=True, scope="module")
def several(engine: str) -> Iterator[None]:
    """Let commands find the database of each data folder of a test."""
    with pytest.MonkeyPatch.context() as patch:
        if engine == "postgresql":
            patch.setattr(running, "location", location)
        yield


def run(data: Path, *words: object) -> Result:
    data.mkdir(exist_ok=True)
    (data / "commentsvc.toml").write_text(SETTINGS)
    return CliRunner().invoke(main.main, ["import", "--data", str(data), *map(str, words)])


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory, engine: str) -> Path:
    """Return an export with everything: also comments of other systems, deleted and late ones."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "disqus.xml").write_text(DISQUS)
    assert run(folder, "disqus", folder / "disqus.xml").exit_code == 0
    with opened(folder) as database:
        # The first comment of the fixture has the id 1.
        database.write_now(lambda tx: tx.execute("UPDATE import_run SET keeps_ids = 0"))
        add(database, url="/deleted/", now=NOW + 1)
        decide(database, DELETED, 4)
        add(database, url="/empty/", status="pending", html="<p>x</p>")
        database.write_now(lambda tx: tx.execute("UPDATE comment SET lang = 'pt-BR' WHERE id = 2"))
    with opened(tmp_path_factory.mktemp("filled")) as database:
        fill(database)
        (folder / "filled.ndjson").write_bytes(exported(database))
    with opened(folder) as database:
        path = folder / "export.ndjson"
        path.write_bytes(exported(database))
    return path


@pytest.mark.parametrize("name", ["export.ndjson", "filled.ndjson"])
@pytest.mark.parametrize("piece", [1, 5_000])
def test_export_import_export_gives_the_same_bytes(
    export: Path, tmp_path: Path, name: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commentsvc.imports.importer.ALONE", piece)
    path = export.with_name(name)
    done = run(tmp_path / "new", "auto", path)
    assert done.exit_code == 0, done.output
    with opened(tmp_path / "new") as database:
        again = exported(database)
    assert again == path.read_bytes()
    assert client.check(tmp_path / "new") == []


PAGES = (PageRef("blog", "/post/"), PageRef("blog", "/b/?page=2"), PageRef("other", "/c/"))
AUTHORS = (("Ann", "ann@blog.example"), ("Bo & Cy", "bo@blog.example"), ("Ünï 😄", ""), ("Mo", ""))
TEXTS = ("Hello *you*", 'a<b>\n\n- "x"\t\u2028', "casino", "😄 ünï", f"![Red](image:{IMAGE})")


class Service:
    """A service in which readers and moderators do what four numbers say."""

    def __init__(self, database: Database) -> None:
        self.do = database.write_now
        self.database = database
        self.pages: list[PageRef] = []  # of the comments, by their ids from 1
        self.wishes: set[int] = set()  # comments whose authors want to follow the page
        self.now = NOW

    def step(self, kind: int, which: int, how: int, more: int) -> None:
        """Do the next thing, unless the service refuses it."""
        self.now += HOUR
        steps = (
            self.write,
            self.write,
            self.write,
            self.judge,
            self.change,
            self.react,
            self.manage,
        )
        with contextlib.suppress(CommentsError, UrlError):
            steps[kind % len(steps)](which, how, more)

    def write(self, which: int, how: int, more: int) -> None:
        page = PAGES[which % 3]
        author, email = AUTHORS[how % 4]
        same = [number for number, other in enumerate(self.pages, 1) if other == page]
        who = None
        if author == "Ann" and more % 3 == 0:
            who = self.do(accounts.identified, page.site, ("mail", email), email, self.now)
            if not who.name:
                who = self.do(accounts.choose_name, who, author, name_skeletons(author))
        self.do(
            create.add,
            new(
                **page._asdict(),
                author=author,
                email=email,
                source=TEXTS[more % 5],
                parent=same[more % len(same)] if same and how % 3 else None,
                status=("approved", "pending", "spam")[more % 3 if how % 2 else 0],
                title=("", "A title")[which % 2],
                notify=bool(email) and more % 2 == 0,
                language=("", "de")[how % 2],
                network=(None, b"\1\2")[more % 2],
                author_site=("", "https://a.example/?a&b")[how % 2],
                reasons=("", "common +1\nlink +2 x")[how % 2],
                score=how - more,
                reader_id=who.id if who else None,
            ),
            self.now,
        )
        self.pages.append(page)

    def judge(self, which: int, how: int, more: int) -> None:
        number = which % max(len(self.pages), 1) + 1
        self.database.read_now(queries.get, number)
        match how % 4:
            case 0 | 1:
                to = ("approved", "spam", "deleted", "pending")[more % 4]
                self.do(changes.change, [number], to, "Jo", self.now)
            case 2:
                self.do(undo.last, [number], "Jo", self.now)
            case 3:
                self.do(changes.edit, number, TEXTS[more % 5], "Jo", self.now)

    def change(self, which: int, how: int, more: int) -> None:
        number = which % max(len(self.pages), 1) + 1
        comment = self.database.read_now(queries.get, number).comment
        match how % 6:
            case 0:
                self.do(pins.pin, number)
            case 5:
                emoji = ("👍", "👎", "❤️", "")[more % 4]
                self.do(votes.react, number, f"reader {more}", emoji, [b"\1\2"], self.now)
            case 1:
                value = (1, -1, 0)[more % 3]
                self.do(votes.vote, number, f"reader {more}", value, [b"\1\2"], self.now)
            case 2 if comment.email and comment.status == "pending" and number not in self.wishes:
                self.wishes.add(number)
                self.do(follows.request_at_comment, number, "fr")
            case 3:
                self.do(subscriptions.confirm, number, self.now)
            case 4:
                self.do(subscriptions.stop, number)

    def react(self, which: int, how: int, more: int) -> None:
        page = PAGES[which % 3]
        match how % 3:
            case 0:
                given = Reaction("👍❤️"[more % 2], f"reader {more}", more % 5 > 0)
                self.do(reactions.react, page, given, [bytes([more])], self.now)
            case 1:
                self.do(views.add, {page: more + 1})
            case 2:
                self.do(follows.request, (page.site, page.url), f"f{more}@x.example", "", self.now)
                self.do((follows.confirm, follows.stop)[more % 2], more, self.now)

    def manage(self, which: int, how: int, more: int) -> None:
        page = PAGES[which % 3]
        match how % 6:
            case 0:
                self.do(threads.set_state, *page, ("open", "closed", "aging")[more % 3])
            case 1:
                self.do(threads.add_alias, *page, f"/old/{more}")
            case 2:
                self.do(threads.set_title, *page, f"Title <{more}>")
            case 3:
                kind = ("author", "word", "domain", "network")[more % 4]
                self.do(
                    bans.add, kind, f"{more:02}", "Jo", self.now, (None, self.now + HOUR)[more % 2]
                )
            case 4:
                self.do(retention.forget, AUTHORS[more % 2][1], "Jo", self.now)
            case 5:
                self.do(threads.merge, "blog", "/b/?page=2", "/post/", "Jo", self.now)


@settings(
    max_examples=12, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(*[st.integers(0, 59)] * 4), min_size=10, max_size=50))
def test_any_service_is_the_same_after_export_and_import(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, int, int]]
) -> None:
    forget()
    folder = tmp_path_factory.mktemp("service")
    with opened(folder, settings=DatabaseSettings(synchronous="normal")) as database:
        database.write_now(site_rows.sync, ["blog", "other"])
        for site in ("blog", "other"):
            database.write_now(images.put, site, IMAGE, b"RIFF red", NOW, images.Quota(99))
        service = Service(database)
        for step in steps:
            service.step(*step)
        export = exported(database)
    path = folder / "export.ndjson"
    path.write_bytes(export)
    data = folder / "new"
    done = run(data, "commentsvc", path)
    assert done.exit_code == 0, done.output
    with opened(data) as database:
        assert exported(database).decode().splitlines() == export.decode().splitlines()
        assert database.read_now(integrity.check) == []


def test_a_second_import_changes_nothing(export: Path, tmp_path: Path) -> None:
    data, path = tmp_path / "new", export.with_name("filled.ndjson")
    for _ in range(2):
        done = run(data, "commentsvc", path)
        assert done.exit_code == 0
    assert "already there          3" in done.output
    assert len(client.read(data, store.runs)) == 1


@pytest.mark.parametrize("name", ["export.ndjson", "filled.ndjson"])
def test_taking_an_import_back_leaves_what_was_there_before(
    export: Path, tmp_path: Path, name: str
) -> None:
    with opened(tmp_path) as database:
        database.write_now(site_rows.sync, ["blog", "other"])
        add(database, url="/post/", source="before", now=NOW)
        database.write_now(bans.add, "word", "casino", "Jo", NOW, None)
        before = exported(database)
    assert run(tmp_path, "commentsvc", export.with_name(name)).exit_code == 0
    with opened(tmp_path) as database:
        assert exported(database) != before
    assert run(tmp_path, "--undo", 1).exit_code == 0
    with opened(tmp_path) as database:
        assert exported(database).decode().splitlines() == before.decode().splitlines()
        assert database.read_now(integrity.check) == []


def test_settings_are_imported_unless_they_are_changed_here_or_impossible(tmp_path: Path) -> None:
    header = b'{"type":"header","format":"commentsvc","version":1}'
    settings = (
        b'"key":"spam.max_links","value":7',
        b'"key":"spam.trust_after","value":7',
        b'"key":"spam.spam_score","value":7',
        b'"key":"mail.host","value":"evil.example"',
        b'"key":"site.sign_in","value":["mail","required"],"site":"blog"',
        b'"key":"site.origins","value":["https://evil.example"],"site":"other"',
        b'"key":"site.close_days","value":-1,"site":"blog"',
        b'"key":"site.close_days","value":9',
        b'"key":"site.close_days","value":9,"site":"other"',
        b'"key":"site.title","value":"Oaks","site":"gone"',
    )
    changed = b'"actor":"Mo","changed":"2026-01-02T03:04:05.000Z"'
    lines = [b'{"type":"setting",%s,%s}' % (each, changed) for each in settings]
    end = b'{"type":"end","settings":%d}' % len(lines)
    path = tmp_path / "export.ndjson"
    path.write_bytes(b"\n".join([header, *lines, end, b""]))
    loaded = LoadedSettings(Settings())
    with opened(tmp_path) as database:
        change = Change({("", "spam.max_links"): 5}, 0, "Jo", NOW)
        database.write_now(stored_settings.store, loaded, change)
    done = run(tmp_path, "commentsvc", path)
    assert done.exit_code == 0, done.output
    with opened(tmp_path) as database:
        assert database.read_now(stored_settings.values) == {
            ("", "spam.max_links"): 5,
            ("", "spam.spam_score"): 7,
            ("other", "site.close_days"): 9,
        }
        assert [each.actor for each in database.read_now(stored_settings.current)][-1] == "Mo"
    assert run(tmp_path, "--undo", 1).exit_code == 0
    with opened(tmp_path) as database:
        assert database.read_now(stored_settings.values) == {("", "spam.max_links"): 5}


def test_taking_an_import_back_keeps_what_readers_did_since(export: Path, tmp_path: Path) -> None:
    assert run(tmp_path, "commentsvc", export.with_name("filled.ndjson")).exit_code == 0
    page = PageRef("blog", "/post/")
    with opened(tmp_path) as database:
        for emoji, reader in (("👍", "a new reader"), ("❤️", "a reader")):
            given = Reaction(emoji, reader)
            database.write_now(reactions.react, page, given, [], SYSTEM_CLOCK.now_ms())
        database.write_now(views.add, {PageRef("blog", "/viewed/"): 2})
        elsewhere = ("other", "/elsewhere/")
        database.write_now(
            follows.request, elsewhere, "a@reader.example", "", SYSTEM_CLOCK.now_ms()
        )
        database.write_now(follows.stop, 2, SYSTEM_CLOCK.now_ms())
    assert run(tmp_path, "--undo", 1).exit_code == 0
    with opened(tmp_path) as database:
        left = [line for line in exported(database).splitlines() if b'"follower"' in line]
        assert [b"flo@" in line and b"stopped" in line for line in left] == [True, False]
        thread = database.read_now(queries.thread, "blog", "/post/")
        assert thread.state == "aging"
        assert database.read_now(reactions.counts, thread.id) == {"👍": 1, "❤️": 1}
        assert database.read_now(views.views, "blog", "/viewed/") == 2
        rest = [line for line in exported(database).splitlines() if b'"thread"' in line]
        assert len(rest) == 2  # one has reactions, and one has a follower
        assert b'"aliases"' not in rest[0]
        assert b'"title"' not in rest[0]


def test_an_export_is_not_doubled_where_it_was_made(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        fill(database)
        data = exported(database)
    path = tmp_path / "export.ndjson"
    path.write_bytes(data)
    assert "already there          3" in run(tmp_path, "auto", path).output
    with opened(tmp_path) as database:
        assert exported(database) == data


def test_a_service_with_comments_gives_new_ids(export: Path, tmp_path: Path) -> None:
    data = tmp_path / "used"
    data.mkdir()
    with opened(data) as database:
        add(database, url="/own/", now=NOW - 1)
    done = run(data, "commentsvc", export.with_name("filled.ndjson"))
    assert done.exit_code == 0, done.output
    with opened(data) as database:
        entries = database.read_now(queries.listing, None, 10)
        pages = {entry.comment.id: (entry.site, entry.url) for entry in entries}
        assert pages == {
            1: ("blog", "/own/"),
            2: ("blog", "/post/"),
            3: ("blog", "/post/"),
            4: ("other", "/elsewhere/"),
        }
        reply = database.read_now(queries.find, 3)
        assert reply
        assert reply.comment.parent_id == 2
        [listed] = [
            each for each in database.read_now(threads.listing, "", 9, None) if each.aliases
        ]
        assert (listed.url, listed.aliases, listed.state) == ("/post/", ("/old/",), "closed")
        assert b'"kind":"word"' in exported(database)
        assert b'"training_token"' not in exported(database)
    assert client.check(data) == []


def test_comments_of_moderators_are_theirs_by_their_address(tmp_path: Path) -> None:
    """A comment that was approved here stays so; others with a moderator's name are pending."""
    with opened(tmp_path) as database:
        add(database, author="Mo", email="mo@blog.example", role="owner")
        add(database, author="Mo", email="other@blog.example", role="moderator")
        add(database, author="Mo", status="pending")
        add(database, author="Mo")
        decide(database, APPROVED, 3)
        database.write_now(pins.pin, 4)
        data = exported(database)
    path, new = tmp_path / "export.ndjson", tmp_path / "new"
    path.write_bytes(data)
    new.mkdir()
    with opened(new) as database:
        add_moderator(database, "Mo", "mo@blog.example")
    assert run(new, "auto", path).exit_code == 0
    with opened(new) as database:
        rows = [(row[4], *row[5:]) for row in whose(database)]
        assert database.read_now(pins.is_pinned, 4)
    held = ("pending", "", None, "protected-name +0 Mo")
    assert rows == [("approved", "owner", 1, ""), held, ("approved", "", None, ""), held]
    assert run(tmp_path / "empty", "auto", path).exit_code == 0
    with opened(tmp_path / "empty") as database:
        assert exported(database) == data


def test_names_of_readers_who_signed_in_stay_theirs(tmp_path: Path) -> None:
    """Elsewhere their comments are verified, unless somebody else has the name there."""
    with opened(tmp_path) as database:
        database.write_now(site_rows.sync, ["blog"])
        for name, email in (("Eva", "eva@id.example"), ("Rosa", "rosa@id.example")):
            who = sign_in(database, "blog", name, email)
            add(database, author=name, email=email, reader_id=who.id)
        add(database, author="Evа")
        path, new = tmp_path / "export.ndjson", tmp_path / "new"
        path.write_bytes(exported(database))
    new.mkdir()
    with opened(new) as database:
        database.write_now(site_rows.sync, ["blog"])
        sign_in(database, "blog", "Eva", "eva@id.example")
        sign_in(database, "blog", "R0sa", "another@id.example")
    assert run(new, "auto", path).exit_code == 0
    with opened(new) as database:
        found = [database.read_now(queries.get, number).comment for number in (1, 2, 3)]
        assert [each.status for each in found] == ["approved", "pending", "pending"]
        assert [each.reader_id for each in found] == [1, None, None]
    assert run(new, "--undo", 1).exit_code == 0
    with opened(new) as database:
        assert exported(database).count(b'"type":"reader"') == 2


def test_followers_hear_of_what_is_published_after_the_import(export: Path, tmp_path: Path) -> None:
    path, new = export.with_name("filled.ndjson"), tmp_path / "new"
    new.mkdir()
    with opened(new) as database:
        database.write_now(follows.request, ("blog", ""), "flo@blog.example", "", NOW)
    assert run(new, "auto", path).exit_code == 0
    with opened(new) as database:
        now = SYSTEM_CLOCK.now_ms()
        before = database.read_now(follows.find, 1)
        assert before is not None
        assert before.consent == "asked"
        assert database.read_now(lambda snapshot: snapshot.query(follows.find_behind, now, 9)) == []
        database.write_now(threads.set_state, "blog", "/post/", "open")
        add(database, now=now)
        behind = database.read_now(lambda snapshot: snapshot.query(follows.find_behind, now + 1, 9))
        follower = database.read_now(follows.find, behind[0][0])
        assert follower is not None
        assert (follower.url, follower.language) == ("/post/", "nl")


def test_an_export_of_one_site_goes_into_another(export: Path, tmp_path: Path) -> None:
    """Without --site, the export's own site must exist; with --site everything goes there."""
    text = export.read_text().replace('"site":"blog"', '"site":"old"')
    path = tmp_path / "old.ndjson"
    path.write_text(text)
    done = run(tmp_path / "new", "auto", path)
    assert "There are: blog, other." in done.output
    assert re.search(r"1 cannot be read: \d+ records are of the site old, which", done.output)
    done = run(tmp_path / "new", "auto", path, "--site", "other")
    assert done.exit_code == 0
    with opened(tmp_path / "new") as database:
        assert database.read_now(queries.site_count, "other") == 1
        assert len(database.read_now(store.runs)) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"type":"end"', '"type":"ban"', "this is no record of ours"),
        ('"version":1', '"version":2', "is of version 2 of the format"),
        ('"status":"deleted"', '"status":"gone"', "this is no record of ours"),
        ("\n", "\n{]\n", "line 2: this is no record of ours"),
        ('"id":2', '"id":9007199254740992', "Expected `int` <= 9007199254740991 - at `$.id`"),
        ('"html":"<p>', '"html":"\\\\\\u0000<p>', "it has the character NUL"),
        ("2013-05-01T", "2013-02-29T", "it has a date that does not exist"),
    ],
)
def test_a_broken_export_is_named_by_its_line(
    export: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "broken.ndjson"
    path.write_text(export.read_text().replace(old, new, 1))
    done = run(tmp_path / "new", "commentsvc", path)
    assert done.exit_code == 1
    assert message in done.output


def test_html_of_an_export_is_sanitised(export: Path, tmp_path: Path) -> None:
    path = tmp_path / "hostile.ndjson"
    path.write_text(export.read_text().replace('"<p>x</p>"', '"<p>x</p><script>y</script>"'))
    assert run(tmp_path / "new", "commentsvc", path).exit_code == 0
    assert {"<p>x</p>"} <= {
        each.comment.html for each in client.read(tmp_path / "new", queries.listing, None, 9)
    }


def test_an_export_that_was_cut_off_is_named(export: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.ndjson"
    path.write_text(export.read_text().rpartition('{"type":"end"')[0])
    assert "the file is cut off" in run(tmp_path / "new", "commentsvc", path).output


HAND_MADE = [
    {"type": "header", "format": "commentsvc", "version": 1, "made": "by another program"},
    {"type": "thread", "site": "blog", "url": "/a/"},
    *(
        {
            "type": "comment",
            "id": number,
            "site": "blog",
            "url": "/a/",
            "status": "approved",
            "created": "1970-01-01T00:00:00.000Z",
            "message": f"text {number}",
            "html": "<p>text</p>",
            "history": [
                {
                    "id": 7,
                    "decision": 3,
                    "field": "status",
                    "old": "pending",
                    "new": "approved",
                    "created": "2020-01-01T00:00:00.000Z",
                }
            ],
            "voters": [{"voter": "aa", "value": 1, "created": "2020-01-01T00:00:00.000Z"}] * 2,
            "reports": [
                {"reporter": "bb", "created": "2020-01-02T00:00:00.000Z"},
                {
                    "reporter": "bb",
                    "created": "2020-01-01T00:00:00.000Z",
                    "reason": "illegal",
                    "explanation": "A threat",
                },
                {"reporter": "cc", "created": "2020-01-02T00:00:00.000Z"},
            ][number - 1 :],
        }
        for number in (1, 2)
    ),
    {"type": "later", "site": "blog"},
    {"type": "end", "threads": 1, "comments": 4},
]


def test_an_export_by_another_program_is_imported(tmp_path: Path) -> None:
    """It may have more types, ids twice, no time of publication, and other counts."""
    path, data = tmp_path / "made.ndjson", tmp_path / "new"
    path.write_text("\n" + "\n".join(map(json.dumps, HAND_MADE)))
    done = run(data, "auto", path)
    assert done.exit_code == 0, done.output
    for line in ("stored                 2", "Invalid value 'later'", "1 comments of the export"):
        assert line in done.output
    with opened(data) as database:
        found = [database.read_now(queries.get, number).comment for number in (1, 2)]
        assert [each.published_at for each in found] == [0, 0]
        assert exported(database).count(b'"voter":"aa"') == 2
        assert exported(database).count(b'"new":"approved"') == 2
        reported = database.read_now(reports.of_comments, [1, 2])
        said = (reports.Reason("illegal", "A threat"),)
        assert reported == dict.fromkeys((1, 2), reports.Reports(2, (("illegal", 1),), said))
        assert exported(database).count(b'"reporter":"bb"') == 2
    assert client.check(data) == []


def test_reactions_of_another_system_are_the_pages(tmp_path: Path) -> None:
    group = '"reactionGroups": [{"content": "HEART", "users": {"totalCount": 2}}], "locked"'
    path, data = tmp_path / "giscus.json", tmp_path / "new"
    path.write_text(GISCUS.replace('"locked"', group))
    for _ in range(2):
        done = run(data, "giscus", path, path)
        assert "reactions              2   to pages" in done.output
    page = b'"url":"/a/","title":"a/","state":"closed","reactions":{"\xe2\x9d\xa4\xef\xb8\x8f":2}'
    with opened(data) as database:
        assert page in exported(database)
    assert run(data, "--undo", 1).exit_code == 0
    with opened(data) as database:
        assert exported(database).count(b"\n") == 2


def test_reactions_of_a_broken_export_are_counted_once_for_each_reader(
    export: Path, tmp_path: Path
) -> None:
    path, data = tmp_path / "odd.ndjson", tmp_path / "new"
    text = export.with_name("filled.ndjson").read_text()
    [given] = re.findall(r'"reacted":\[(.*?)\]', text)
    odd = text.replace('"reactions":{"👍":2},', "").replace(given, f"{given},{given}")
    path.write_text(odd)
    assert run(data, "commentsvc", path).exit_code == 0
    with opened(data) as database:
        thread = database.read_now(queries.thread, "blog", "/post/")
        assert database.read_now(reactions.counts, thread.id) == {"👍": 2}
    assert client.check(data) == []
