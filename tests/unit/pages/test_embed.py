"""The embedded page: the thread and the form as HTML, with and without errors."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from commentsvc.db.connection import Transaction
from commentsvc.db.schema.comments import ThreadTable
from commentsvc.moderation import changes, pins, threads
from commentsvc.moderation.threads import set_state
from commentsvc.settings.schema import CommentsSettings, ModerationSettings, SpamSettings
from commentsvc.util.text import hue, initial
from tests.unit.admin_client import seated
from tests.unit.app_fixture import SETTINGS, Served, data, faults, served
from tests.unit.json_ld import described


def test_a_closed_page_is_readable_and_has_no_form(service: Served) -> None:
    service.submit("Hello", "/p/")

    def has_form(target: str = "/embed/thread?url=/p/") -> bool:
        answer = service.get(target)
        html = answer.body.decode()
        assert (answer.status, "Hello" in html) == (200, True)
        assert ("<form" in html) != ("no longer accepts comments" in html)
        return "<form" in html

    assert has_form()
    assert not has_form("/embed/thread?url=/p/&closed=yes")
    service.database.write_now(set_state, site="blog", url="/p/", state="closed")
    assert not has_form()
    answer = service.form("/embed/thread", "url=/p/&author=Ann&message=More")
    assert answer.status == 400
    assert b"This page no longer accepts comments." in answer.body
    assert b">\nMore</textarea>" in answer.body, "what was typed is kept"


class Outline(HTMLParser):
    """The tags and texts of a document; fails if tags do not match or a script could run."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html.decode())
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script" or dict(attrs) == {"type": "application/ld+json"}
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]
        self.tags.append((tag, dict(attrs)))
        if tag not in ("br", "input", "link", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self) -> dict[str, str | None]:
        return {
            attrs["name"] or "": attrs.get("value") for tag, attrs in self.tags if tag == "input"
        }


def test_a_thread_is_a_list_of_articles_and_a_form(service: Served) -> None:
    service.submit("*Hi*", author="<Ann>", site='https://ann.example/?"', title="x")
    assert service.submit("*Hi*", author="<Ann>", site="https://ann.example/?a&b").status == 201
    service.submit("Ho", parent=1)
    answer = service.get("/embed/thread?url=/p/")
    html = answer.body.decode()
    outline = Outline(answer.body)
    assert answer.tags == ("thread:blog:/p/",)
    assert dict(answer.headers)["Content-Type"] == "text/html; charset=utf-8"
    assert "<h2" in html
    assert "2 comments" in html
    assert '<li class="commentsvc-comment" id="commentsvc-1" data-comment=' in html
    assert 'href="https://ann.example/?a&amp;b" rel="nofollow ugc noopener" dir="auto">' in html
    assert ">&lt;Ann&gt;</a>" in html
    assert '<time datetime="2026-11-18T11:06:40Z" dir="ltr">2026-11-18 11:06 UTC</time>' in html
    assert "<p><em>Hi</em></p>" in html
    assert [tag for tag, _ in outline.tags if tag in ("article", "ol")] == ["ol", "article"] * 2
    assert outline.values() == dict.fromkeys(("author", "email", "site"), "") | {
        "url": "/p/",
        "view": "page",
        "lang": "en",
        "subject": None,
    }


@pytest.mark.parametrize("view", ["", "&view=page"])
def test_a_thread_says_to_search_engines_what_it_is(service: Served, view: str) -> None:
    assert b"ld+json" not in service.get(f"/embed/thread?url=/p/{view}").body, "nothing to say"
    service.submit("Is </script> a *tag*?", author="<!--", title="A post")
    service.submit("Yes\u2028!", parent=1)
    document = described(service.get(f"/embed/thread?url=/p/{view}").body.decode())
    assert document["url"] == "https://blog.example/p/"
    assert document["commentCount"] == 2
    assert document.get("headline", "") == ("A post" if view else "")
    [question] = document["comment"]
    assert (question["author"]["name"], question["text"]) == ("<!--", "Is </script> a tag?")
    assert question["comment"][0]["url"] == "https://blog.example/p/#commentsvc-2"


def test_a_page_of_ours_describes_no_page_whose_address_is_unknown(service: Served) -> None:
    """In the blog's page the path leads to the blog, on a page of ours to ourselves."""
    sent = {"url": "/p/", "author": "Ann", "message": "Hello"}
    assert service.post("/api/comments?site=notes", sent).status == 201
    assert b"ld+json" not in service.get("/embed/thread?url=/p/&site=notes&view=page").body
    fragment = service.get("/embed/thread?url=/p/&site=notes").body.decode()
    assert described(fragment, "https://notes.example/p/")["url"] == "/p/"


def test_each_author_has_the_widgets_colour_and_initial_without_a_script(service: Served) -> None:
    authors = ("Ann", "Bo", "🇩🇪 Max", "שרה")
    for author in authors:
        answer = service.submit("Hi", author=author)
        assert data(answer)["comment"].get("initial") == ("🇩🇪" if "Max" in author else None)
    html = service.get("/embed/thread?url=/p/").body.decode()
    shown = re.findall(
        r'class="commentsvc-avatar commentsvc-(hue\d+)" aria-hidden="true">(.+?)<', html
    )
    assert shown == [(f"hue{hue(author)}", initial(author)) for author in authors]
    thanks = service.form(
        "/embed/thread", urlencode({"url": "/p/", "author": "Bo", "message": "x"})
    )
    assert "commentsvc-avatar commentsvc-hue11" in thanks.body.decode()


def test_imported_comments_keep_the_names_that_old_links_have(service: Served) -> None:
    for number in range(4):
        service.submit(f"Number {number}")
    rows = [(1, b"1", "comment-3"), (2, b"2", "isso-9"), (3, b"3", "")]

    def work(tx: Transaction) -> None:
        tx.execute("UPDATE thread SET imported = 1")
        tx.execute_many("INSERT INTO imported_comment VALUES (?, 1, ?, ?, 0)", rows)
        tx.purge("thread:blog:/p/")

    service.database.write_now(work)
    html = service.get("/embed/thread?url=/p/").body.decode()
    names = ["comment-3", "isso-9", "commentsvc-3", "commentsvc-4"]
    assert re.findall(r'<li [^>]*id="(\S+)"', html) == names
    assert re.findall(r'href="#(\S+)"', html) == names
    own = re.findall(r'<article id="(\S+)"', html)
    assert own == ["commentsvc-1", "commentsvc-2"], "our mails and feeds link to these"
    listed = json.loads(service.get("/api/comments?url=/p/").body)["data"]
    assert [item.get("anchor") for item in listed] == ["comment-3", "isso-9", None, None]


def test_a_comment_is_answered_without_a_script(service: Served) -> None:
    """With a button of a form, not a link: the policy limits where a form can lead."""
    service.submit("Hi", author="<Ann>")
    html = service.get("/embed/thread?url=/p/").body.decode()
    assert re.findall("<button [^>]*Reply to [^>]*>", html) == [
        '<button type="submit" class="commentsvc-link" form="commentsvc-reply" name="parent"'
        ' value="1" aria-label="Reply to &lt;Ann&gt;">'
    ]
    action = "/embed/thread#commentsvc-form"
    assert f'<form id="commentsvc-reply" action="{action}">' in html
    page = service.get("/embed/thread?url=/p/&view=page&parent=1").body
    assert "Reply to &lt;Ann&gt;</h3>" in page.decode()
    assert Outline(page).values()["parent"] == "1"
    gone = service.get("/embed/thread?url=/p/&view=page&parent=2")
    assert (gone.status, "Write a comment" in gone.body.decode()) == (200, True)
    service.form("/embed/thread", "url=/p/&author=Bob&message=Ho&parent=1")
    assert [entry.comment.parent_id for entry in service.stored()] == [1, None]


def test_a_long_thread_goes_on_without_a_script(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, comments=CommentsSettings(list_limit=2))
    with served(tmp_path, settings) as service:
        for text in "abc":
            service.submit(text)
        more = "/embed/thread?url=/p/&site=blog&closed=yes"
        first = service.get(more).body
        assert b"Show more comments</button>" in first
        values = Outline(first).values()
        assert [values[name] for name in ("url", "site", "view", "closed")] == [
            "/p/", "blog", "page", "yes"]  # fmt: skip
        last = service.get(f"{more}&after={values['after']}").body.decode()
        assert re.findall(r"<p>(\w)</p>", first.decode() + last) == ["a", "b", "c"]
        assert "more comments</button>" not in last
        assert service.get(f"{more}&after=x").status == 400


def test_every_field_of_the_form_has_its_label(service: Served) -> None:
    tags = Outline(service.get("/embed/thread?url=/").body).tags
    labelled = {attrs.get("for") for tag, attrs in tags if tag == "label"}
    fields = {
        attrs.get("id")
        for tag, attrs in tags
        if tag in ("input", "textarea") and attrs.get("type") != "hidden"
    }
    assert labelled == fields


def test_the_thread_can_be_a_page_of_its_own(service: Served) -> None:
    fragment = service.get("/embed/thread?url=/p/").body.decode()
    page = service.get("/embed/thread?url=/p/&view=page").body.decode()
    assert page.startswith("<!DOCTYPE html>")
    assert fragment.replace('"/embed/thread"', '"thread"') in page
    assert '<a href="https://blog.example/p/" dir="ltr">' in page
    assert 'href="../static/comments.css"' in page
    assert "<html" not in fragment


@pytest.mark.parametrize(
    ("query", "action"),
    [
        ("", "/embed/thread"),
        ("&site=notes", "/embed/thread?site=notes"),
        ("&view=page&site=notes", "thread?site=notes"),
    ],
)
def test_the_form_is_posted_to_this_service(service: Served, query: str, action: str) -> None:
    html = service.get(f"/embed/thread?url=/p/{query}").body.decode()
    assert f'method="post" action="{action}"' in html


def test_a_refused_form_brings_back_what_was_typed_but_no_more(service: Served) -> None:
    """Otherwise the answer would be five times as large as the largest body, at each attempt."""
    typed = "é" * 9_000
    answer = service.form("/embed/thread", urlencode({"url": "/p/", "message": typed}))
    assert typed in answer.body.decode()
    huge = urlencode(dict.fromkeys(("url", "message", "author", "email", "key"), '"' * 17_000))
    answer = service.form("/embed/thread", huge)
    assert answer.status == 400
    assert len(answer.body) < 150_000


def _in_languages(service: Served, *tags: str) -> None:
    """Store a comment on the page /p/ in each of the languages, the first with the number 1."""
    for number, tag in enumerate(tags, 1):
        assert service.submit(f"Words {number} in {tag}", "/p/").status == 201
        if tag:
            service.database.write_now(changes.correct_language, number, tag, "Mo", number)


def _choice(html: str) -> list[tuple[str, str]]:
    """Return the languages that readers can choose, with their names; that which is shown has !."""
    [form] = re.findall(r'<form id="commentsvc-only".*?</form>', html, re.DOTALL) or [""]
    buttons = re.findall(r'name="only" value="(.*?)".*?>(.*?)</button>', form)
    return buttons + [("!", name) for name in re.findall(r"<strong.*?>(.*?)</strong>", form)]


@pytest.mark.parametrize("view", ["", "&view=page"])
def test_readers_without_scripts_choose_a_language(service: Served, view: str) -> None:
    _in_languages(service, "en", "de", "", "de")
    html = service.get(f"/embed/thread?url=/p/{view}").body.decode()
    assert _choice(html) == [("de", "Deutsch"), ("en", "English"), ("!", "All languages")]
    answer = service.get(f"/embed/thread?url=/p/{view}&only=de")
    html = answer.body.decode()
    assert re.findall("Words . in de<", html) == ["Words 2 in de<", "Words 4 in de<"]
    assert ("in en" in html, "4 comments" in html, "data-since" in html) == (False, True, False)
    assert [*_choice(html)[:1], _choice(html)[-1]] == [("", "All languages"), ("!", "Deutsch")]
    assert answer.tags == ("thread:blog:/p/",)
    form = html.partition('id="commentsvc-reply"')[2].partition("</form>")[0]
    assert '<input type="hidden" name="only" value="de">' in form, "an answer leaves it as it is"
    Outline(answer.body)


def test_a_language_without_comments_is_no_entry_of_the_cache(service: Served) -> None:
    _in_languages(service, "en", "de")
    for only in ("fr", "DE", "x-y", "en-GB"):
        answer = service.get(f"/embed/thread?url=/p/&view=page&only={only}")
        assert (answer.status, answer.tags) in ((200, ()), (400, ())), only
    answer = service.get("/embed/thread?url=/p/&view=page&only=fr")
    assert ("", "All languages") in _choice(answer.body.decode())
    service.database.write_now(changes.correct_language, 1, "de", "Mo", 9)
    assert service.get("/embed/thread?url=/p/&only=en").tags == ()


def test_one_language_is_no_choice(service: Served) -> None:
    _in_languages(service, "en", "en", "")
    assert "commentsvc-only" not in service.get("/embed/thread?url=/p/").body.decode()


def test_a_language_is_listed_in_parts_with_its_pinned_comment(tmp_path: Path) -> None:
    comments = msgspec.structs.replace(SETTINGS.comments, list_limit=2)
    with served(tmp_path, msgspec.structs.replace(SETTINGS, comments=comments)) as service:
        _in_languages(service, "en", "de", "en", "de", "en", "de")
        service.database.write_now(pins.pin, 4)
        target, seen = "/embed/thread?url=/p/&view=page&only=de", []
        for _ in range(3):
            html = service.get(target).body.decode()
            seen += re.findall(r"Words (\d) in (\w+)<", html)
            form = html.partition('<form id="commentsvc-more"')[2].partition("</form>")[0]
            values = dict(re.findall(r'name="(\w+)" value="(.*?)"', form))
            target = f"/embed/thread?{urlencode(values)}"
            if not values:
                break
            assert values["only"] == "de"
        assert seen == [("4", "de"), ("2", "de"), ("6", "de")]


def test_a_long_list_offers_the_languages_of_all_translations(tmp_path: Path) -> None:
    comments = msgspec.structs.replace(SETTINGS.comments, list_limit=2)
    with served(tmp_path, msgspec.structs.replace(SETTINGS, comments=comments)) as service:
        _in_languages(service, "en", "en", "de")
        target = "/embed/thread?url=/p/&view=page"
        assert _choice(service.get(target).body.decode()) == []
        service.database.write_now(threads.add_alias, "blog", "/p/", "/de/p/")
        for url, lang in (("/p/", "en"), ("/de/p/", "de")):
            named = ThreadTable.update(lang=lang).where(ThreadTable.url == url)
            service.database.write_now(Transaction.change, named)
        names = dict(_choice(service.get(target).body.decode()))
        assert names == {"de": "Deutsch", "en": "English", "!": "All languages"}


def test_the_address_of_the_form_comes_from_the_settings(tmp_path: Path) -> None:
    server = msgspec.structs.replace(SETTINGS.server, public_url="https://c.example/x/")
    with served(tmp_path, msgspec.structs.replace(SETTINGS, server=server)) as service:
        for query, action in {
            "": "https://c.example/x/embed/thread",
            "&base=https://c.example/x": "https://c.example/x/embed/thread",
            "&base=https://c.example/x/&site=notes": "https://c.example/x/embed/thread?site=notes",
            "&view=page&base=https://c.example/x": "thread",
        }.items():
            html = service.get(f"/embed/thread?url=/p/{query}").body.decode()
            assert f'method="post" action="{action}"' in html
        answer = service.get("/embed/thread?url=/p/&base=https://c.example/y")
        assert (answer.status, answer.tags) == (400, ())
        assert b"server.public_url" in answer.body


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", ["url"]),
        ("?url=/p/&site=other", ["site"]),
        ("?url=/p/&base=javascript:alert(1)", ["base"]),
        ("?url=/p/&base=//evil.example", ["base"]),
        ("?url=/p/&base=https://c.example", ["base"]),
        ("?url=/p/&lang=x&view=all", ["lang", "view"]),
        ("?url=/p/&closed=1", ["closed"]),
        ("?url=/p/&parent=x", ["parent"]),
        ("?url=/p/&only=german", ["only"]),
        ("?url=/p/&only=de%0A", ["only"]),
    ],
)
def test_a_thread_that_cannot_be_is_refused(service: Served, query: str, named: list[str]) -> None:
    answer = service.get("/embed/thread" + query)
    assert (answer.status, faults(answer)) == (400, named)


def test_a_posted_form_is_thanked_for(service: Served) -> None:
    body = "url=/p/&author=Ann&message=*Hi*&email=&site=&parent=&subject="
    answer = service.form("/embed/thread", body, origin="https://blog.example")
    html = answer.body.decode()
    Outline(answer.body)
    assert answer.status == 201
    assert "Your comment is published." in html
    assert "<em>Hi</em>" in html
    assert 'href="https://blog.example/p/#commentsvc-1"' in html
    assert 'name="author"' not in html
    assert '<form class="commentsvc-form" method="post" action="actions">' in html
    assert dict(answer.headers)["Cache-Control"] == "no-store"
    assert len(service.stored()) == 1


def test_a_posted_form_may_have_to_wait(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, moderation=ModerationSettings(policy="all"))
    with served(tmp_path, settings) as service:
        answer = service.form("/embed/thread?site=notes", "url=/p/&author=Ann&message=Hi")
        assert answer.status == 202
        assert "is waiting for approval" in answer.body.decode()
        assert 'href="/p/"' in answer.body.decode()


def test_a_mistake_brings_the_form_back_as_it_was_filled(service: Served) -> None:
    body = "url=/p/&author=&message=a%20%3C/textarea%3E&email=x%22y&parent=7&site=&zzz=1"
    answer = service.form("/embed/thread?site=notes", body)
    html, outline = answer.body.decode(), Outline(answer.body)
    assert answer.status == 400
    assert "a &lt;/textarea&gt;</textarea>" in html
    assert outline.values()["email"] == 'x"y'
    assert outline.values()["parent"] == "7"
    assert len(re.findall('<span class="commentsvc-error" ', html)) == 2
    assert "zzz: There is no such field." in html
    assert 'action="thread?site=notes"' in html
    assert service.stored() == []


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ("url=/p/&author=Ann&message=Hi", {"origin": "https://evil.example"}, 403),
        ("url=/p/&author=Ann&message=Hi&subject=x", {}, 400),
        ("url=/p/&author=Ann&message=Hi&parent=9", {}, 400),
        ("url=https://evil.example/&author=Ann&message=Hi", {}, 400),
        ("url=%ff", {}, 400),
        ("{}", {"content_type": "application/json"}, 415),
    ],
)
def test_every_refusal_is_a_page(
    service: Served, body: str, headers: dict[str, str], status: int
) -> None:
    headers = {"content_type": "application/x-www-form-urlencoded"} | headers
    answer = service.ask("POST", "/embed/thread", body.encode(), **headers)
    assert (answer.status, dict(answer.headers)["Cache-Control"]) == (status, "no-store")
    assert '<p class="commentsvc-error" role="alert"' in answer.body.decode()
    Outline(answer.body)
    assert service.stored() == []


def test_every_form_may_name_its_encoding(service: Served) -> None:
    """Browsers fill in such a field of a form: no handler may call it unknown."""
    asked = [
        each.pattern.replace("{id}", "1")
        for each in service.routes
        if each.operation and any("urlencoded" in body.media_type for body in each.operation.body)
    ]
    assert {"/embed/thread", "/embed/actions", "/newcomment", "/webmention"} <= {*asked}
    for path in asked:
        answer = service.form(path, "_charset_=windows-1252&author=%e4")
        assert b"_charset_" not in answer.body, path
    assert service.form("/embed/thread", "_charset_=x&url=/p/&author=Ann&message=%e4").status == 201
    [entry] = service.stored()
    assert entry.comment.source == "ä"


def test_where_a_stamp_is_required_the_plain_form_is_shown_again_with_one(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(
        SETTINGS, spam=SpamSettings(form_token="require", rate_limit="off")
    )
    with served(tmp_path, settings) as service:
        form = "url=/p/&author=Ann&message=Hello&subject="
        asked = service.form("/embed/thread", form)
        page = asked.body.decode()
        assert asked.status == 400
        assert "please send it again" in " ".join(page.split())
        assert ">\nHello</textarea>" in page
        form_token = re.findall(r'name="form_token" value="([^"]+)"', page)
        service.now += 9
        assert service.form("/embed/thread", f"{form}&form_token={form_token[0]}").status == 201
        [entry] = service.stored()
        assert entry.comment.source == "Hello"


def known(html: str) -> list[dict[str, object]]:
    """Return what the HTML tells the widget about its comments."""
    outline = Outline(html.encode())
    return [
        json.loads(attrs["data-comment"] or "")
        for _, attrs in outline.tags
        if "data-comment" in attrs
    ]


def test_a_fragment_tells_the_widget_what_it_holds(service: Served) -> None:
    service.submit("*Hi*", author='"<Ann>', site="https://ann.example/?a&b")
    service.now += 100
    service.submit("Ho", parent=1)
    html = service.get("/embed/thread?url=/p/").body.decode()
    shown = data(service.get("/api/comments?url=/p/"))["data"]
    left_out = {"content", "html", "date", "votes"}
    assert known(html) == [
        {key: value for key, value in each.items() if key not in left_out and value}
        for each in shown
    ]
    assert 'data-since="2026-11-18T11:07:20Z"' in html, "the newest, and a minute before"


def test_a_page_of_its_own_names_the_threads_feeds(service: Served) -> None:
    page = service.get("/embed/thread?url=/p/%3Fa%26b&view=page&site=notes").body.decode()
    for name in ("atom", "rss", "json"):
        assert f'href="../feed.{name}?url=%2Fp%2F%3Fa%26b&amp;site=notes"' in page
        assert f"feed.{name}" not in service.get("/embed/thread?url=/p/").body.decode()


@pytest.mark.parametrize("query", ["&view=page", "&after=0.0.0"])
def test_what_is_no_whole_fragment_tells_the_widget_nothing(service: Served, query: str) -> None:
    service.submit("Hi")
    html = service.get(f"/embed/thread?url=/p/{query}").body.decode()
    assert "Hi" in html
    assert "data-" not in html


def test_a_part_or_nothing_tells_the_widget_nothing(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, comments=CommentsSettings(list_limit=1))
    with served(tmp_path, settings) as service:
        for number in range(3):
            fragment = service.get("/embed/thread?url=/p/").body.decode()
            assert ("data-since" in fragment) == (number == 1)
            service.submit(f"Number {number}")


def test_a_thread_speaks_the_language_of_its_page(service: Served) -> None:
    service.submit("Hi", author="Ann")
    html = service.get("/embed/thread?url=/p/&lang=de-AT&site=blog").body.decode()
    assert html.startswith('<section class="commentsvc-thread" lang="de" dir="ltr"')
    for text in (
        "1 Kommentar<",
        ">Antworten<",
        'aria-label="Ann antworten"',
        "E-Mail (freiwillig)",
    ):
        assert text in html
    assert 'action="/embed/thread?site=blog&amp;lang=de"' in html
    assert '<input type="hidden" name="lang" value="de">' in html
    page = service.get("/embed/thread?url=/p/&lang=ar&view=page").body.decode()
    assert '<html lang="ar" dir="rtl">' in page
    assert '<h2 class="commentsvc-heading">تعليق واحد</h2>' in page
    assert service.get("/embed/thread?url=/p/&lang=sw").body == (
        service.get("/embed/thread?url=/p/").body
    ), "one that we do not speak is English"


def test_a_form_is_answered_in_its_language(service: Served) -> None:
    good = service.form("/embed/thread?lang=fr", "url=/p/&author=Ann&message=Hi")
    assert good.status == 201
    assert '<html lang="fr" dir="ltr">' in good.body.decode()
    assert "Votre commentaire est publié." in good.body.decode()
    bad = service.form("/embed/thread?lang=fr", "url=/p/&author=&message=Hi").body.decode()
    assert '<h1 class="commentsvc-heading">Réessayer</h1>' in bad
    fault = '<span class="commentsvc-error" id="commentsvc-author-fault">'
    assert f"{fault}Veuillez indiquer un nom.</span>" in bad
    assert '<a href="#commentsvc-author">Veuillez indiquer un nom.</a></p>' in bad
    assert 'aria-invalid="true" aria-describedby="commentsvc-author-fault">' in bad
    assert "Please" not in bad
    odd = service.form("/embed/thread?lang=fr", "url=/p/&author=&message=Hi&key=1").body.decode()
    assert 'lang="en" dir="ltr">key: A key has' in odd, "what no reader can cause"
    gone = service.form("/embed/thread?lang=fr", "url=/p/&author=Ann&message=Hi&parent=9")
    assert "Le commentaire auquel vous répondez n’est pas" in gone.body.decode()
    assert 'action="thread?lang=fr"' in bad
    assert service.form("/embed/thread?%ff", "url=/p/&author=&message=Hi").status == 400


def test_who_sends_too_much_is_told_so_in_the_language_of_the_page(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, spam=SpamSettings(rate_limit="1/minute"))
    with served(tmp_path, settings) as service:
        for _ in range(2):
            answer = service.form("/embed/thread?lang=ru", "url=/p/&author=Ann&message=Hi")
        assert answer.status == 429
        assert "Вы немного спешите. Подождите 6" in answer.body.decode()


def test_a_deleted_comment_with_replies_leaves_a_word(service: Served) -> None:
    for text, parent in (("One", None), ("Two", 1), ("Three", 2), ("Four", None)):
        assert service.submit(text, parent=parent).status == 201
    service.database.write_now(changes.change, [2], "deleted", "Mo", 1)
    html = service.get("/embed/thread?url=/p/").body.decode()
    assert "3 comments" in html
    assert html.index('id="commentsvc-1"') < html.index("This comment was deleted.")
    assert html.index("This comment was deleted.") < html.index('id="commentsvc-3"')
    assert html.index('id="commentsvc-3"') < html.index('id="commentsvc-4"')
    assert "Two" not in html
    assert {"id": 2, "parent": 1, "deleted": True} in known(html)


def test_a_page_of_its_own_is_headed_by_its_title(service: Served) -> None:
    service.submit("Hi", title="On <wood>")
    page = service.get("/embed/thread?url=/p/&view=page").body.decode()
    assert "<title>1 comment · On &lt;wood&gt;</title>" in page
    assert '<a href="https://blog.example/p/" dir="auto">On &lt;wood&gt;</a></h1>' in page
    other = service.get("/embed/thread?url=/q/&view=page").body.decode()
    assert '<a href="https://blog.example/q/" dir="ltr">https://blog.example/q/</a></h1>' in other


def test_each_place_shows_blocks_in_their_direction_and_code_left_to_right(
    service: Served,
) -> None:
    text = "שלום `foo(1);`\n\nHello\n\n> ציטוט"
    blocks = (
        '<p dir="rtl">שלום <code dir="ltr">foo(1);</code></p>',
        '<p dir="ltr">Hello</p>',
        '<blockquote dir="rtl">',
    )
    service.submit(text)
    preview = data(service.post("/api/preview", {"message": text}))
    comments = data(service.get("/api/comments?url=/p/"))["data"]
    feed = json.loads(service.get("/feed.json?url=/p/").body)
    shown = [preview["html"], comments[0]["html"], feed["items"][0]["content_html"]]
    shown += [
        unescape(service.get(target).body.decode())
        for target in (
            *("/embed/thread?url=/p/", "/embed/thread?url=/p/&view=page", "/comment/1"),
            *("/feed.atom?url=/p/", "/feed.rss?url=/p/"),
        )
    ]
    shown.append(seated(service).get("comment?id=1").body.decode())
    for html in shown:
        assert all(block in html for block in blocks), html
