"""What a site asks authors for holds at every door: name, address, website, box, signing in."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from commentsvc.http.messages import Response
from commentsvc.model import Comment
from commentsvc.readers import accounts
from commentsvc.settings.schema import MailSettings, ServerSettings, Settings, Site
from commentsvc.spam.protected_names import name_skeletons
from tests.unit.app_fixture import SETTINGS, Served, data, served, waiting

BASE, BLOG = "https://comments.example", "https://blog.example"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
Doors = dict[str, Callable[..., Response]]


def settings(**site: object) -> Settings:
    blog = Site(
        name="blog", origins=(BLOG,), isso=True, waline=True, artalk=True, images=True, math=False
    )
    return replace(
        SETTINGS,
        server=ServerSettings(public_url=BASE),
        mail=MailSettings(host="localhost", sender="comments@blog.example"),
        sites=(replace(blog, **site),),
    )


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Return a function that starts a service whose site has the given settings, once."""
    with ExitStack() as stack:
        yield lambda **site: stack.enter_context(served(tmp_path, settings(**site)))


def doors(service: Served) -> Doors:
    """Return all ways by which a comment arrives by HTTP, as functions of its fields."""
    here = {"origin": BLOG}

    def json_of_ours(name: str, email: str, site: str) -> Response:
        sent = {"url": "/p/", "author": name, "message": "Hi there", "email": email, "site": site}
        return service.post("/api/comments", sent)

    def form_of_ours(name: str, email: str, site: str) -> Response:
        sent = {"url": "/p/", "author": name, "message": "Hi form", "email": email, "site": site}
        return service.form("/embed/thread", urlencode(sent))

    def isso(name: str, email: str, site: str) -> Response:
        sent = {"author": name, "text": "Hi Isso", "email": email, "website": site}
        return service.post("/isso/new?uri=/p/", sent, **here)

    def waline(name: str, email: str, site: str) -> Response:
        sent = {"url": "/p/", "nick": name, "comment": "Hi Waline", "mail": email, "link": site}
        return service.post("/waline/api/comment", sent, **here)

    def artalk(name: str, email: str, site: str) -> Response:
        sent = {"page_key": "/p/", "name": name, "content": "Hi Artalk"}
        more = {"email": email, "link": site, "rid": 0, "page_title": "", "site_name": ""}
        return service.post("/artalk/api/v2/comments", sent | more, **here)

    def stacosys(name: str, email: str, site: str) -> Response:
        sent = {"url": "/p/", "author": name, "message": "Hi Stacosys"}
        more = {"email": email, "site": site, "subscribe": "yes"}
        return service.form("/newcomment", urlencode(sent | more))

    def stacosys_json(name: str, email: str, site: str) -> Response:
        sent = {"url": "/p/", "author": name, "message": "Hi Stacosys 1"}
        return service.post("/comments", sent | {"email": email, "site": site})

    found = (json_of_ours, form_of_ours, isso, waline, artalk, stacosys, stacosys_json)
    return {door.__name__: door for door in found}


def newest(service: Served) -> Comment:
    return service.stored()[0].comment


FULL = ("Rosa Miller", "rosa@home.example", "https://rosa.example")


def test_a_hidden_field_is_dropped_at_every_door_and_never_stored(
    serve: Callable[..., Served],
) -> None:
    service = serve(name_field="hidden", email_field="hidden", website_field="hidden")
    for name, door in doors(service).items():
        answer = door(*FULL)
        assert answer.status < 400, (name, answer.body)
        stored = newest(service)
        assert (stored.author, stored.email, stored.avatar, stored.site) == (
            "Anonymous",
            "",
            "",
            "",
        ), name
    assert len(service.stored()) == 7
    assert all("rosa" not in row.recipient for row in waiting(service))


@pytest.mark.parametrize(
    ("asks", "empty", "said"),
    [
        ({"name_field": "required"}, ("\u200b \u2060", *FULL[1:]), "name"),
        ({"email_field": "required"}, (FULL[0], " ", FULL[2]), "email address"),
        ({"email_field": "required"}, (FULL[0], "rosa", FULL[2]), "email address"),
        ({"website_field": "required"}, (*FULL[:2], "  "), "website"),
        ({"website_field": "required"}, (*FULL[:2], "http://"), "website"),
    ],
)
def test_a_required_field_that_is_missing_is_told_at_every_door(
    serve: Callable[..., Served], asks: dict[str, str], empty: tuple[str, ...], said: str
) -> None:
    service = serve(**asks)
    for name, door in doors(service).items():
        answer = door(*empty)
        assert answer.status in (400, 403), (name, answer.body)
        assert said in answer.body.decode(), name
    assert service.stored() == []
    for name, door in doors(service).items():
        assert door(*FULL).status < 400, name
        if "email_field" in asks:
            assert newest(service).email == FULL[1], name


def test_a_comment_without_a_name_is_by_anonymous_in_the_language_of_the_site(
    serve: Callable[..., Served],
) -> None:
    service = serve(name_field="optional", language="de")
    for name, door in doors(service).items():
        assert door("", "", "").status < 400, name
        assert newest(service).author == "Anonym", name
    assert doors(service)["json_of_ours"](*FULL).status == 201
    assert newest(service).author == FULL[0]
    assert service.post("/api/comments", {"url": "/p/", "message": "no name at all"}).status == 201


def test_all_that_is_missing_is_told_at_once(serve: Callable[..., Served]) -> None:
    service = serve(email_field="required", website_field="required", agreement="I agree")
    answer = service.post("/api/comments", {"url": "/p/"})
    assert set(data(answer)["error"]["fields"]) == {"author", "message", "email", "site", "agreed"}


def test_the_box_has_to_be_ticked_at_every_door(serve: Callable[..., Served]) -> None:
    service = serve(agreement="I agree to the <guidelines>")
    for name, door in doors(service).items():
        answer = door(*FULL)
        assert answer.status == 400, (name, answer.body)
        assert "tick the box" in answer.body.decode(), name
    assert service.stored() == []
    for wrong in (False, None, "", 0, "yes", 1, [True]):
        assert service.submit(agreed=wrong).status == 400, wrong
    assert service.submit(agreed=True).status == 201
    form = {"url": "/p/", "author": "Ann", "message": "By form", "agreed": "yes"}
    assert service.form("/embed/thread", urlencode(form)).status == 201
    refused = service.form("/embed/thread", urlencode(form | {"agreed": ""})).body.decode()
    assert 'href="#commentsvc-agreed"' in refused
    assert "By form" in refused
    assert "I agree to the &lt;guidelines&gt;" in refused


def signed_in(service: Served, email: str = "ann@home.example", name: str = "Ann Lee") -> str:
    """Return the token of a reader who has signed in."""
    now, write = service.clock.now_ms(), service.database.write_now
    identity = ("mail", email) if email else ("https://id.example", name)
    who = write(accounts.identified, "blog", identity, email, now)
    who = write(accounts.choose_name, who, name, name_skeletons(name))
    return write(accounts.begin_session, who.id, now)


MEMBERS = {"sign_in": ("required", "mail")}


def test_nobody_writes_without_signing_in_where_only_members_may(
    serve: Callable[..., Served],
) -> None:
    service = serve(**MEMBERS)
    for name, door in doors(service).items():
        answer = door(*FULL)
        assert answer.status == 401, (name, answer.body)
        assert "sign in" in answer.body.decode(), name
    upload = partial(service.ask, "POST", "/api/images?url=/p/", PNG)
    assert upload(content_type="application/octet-stream").status == 401
    bad = {"authorization": "Bearer " + "x" * 43}
    assert service.submit().status == 401
    assert service.post("/api/comments", {"url": "/p/", "message": "Hi"}, **bad).status == 401
    assert service.submit(form_token="x", key="0123456789").status == 401
    assert service.stored() == []
    token = signed_in(service)
    mine = {"authorization": f"Bearer {token}"}
    assert service.post("/api/comments", {"url": "/p/", "message": "Hi"}, **mine).status == 201
    assert (newest(service).author, newest(service).email) == ("Ann Lee", "ann@home.example")
    assert upload(content_type="application/octet-stream", **mine).status == 201
    lied = {"url": "/p/", "message": "I lie", "author": "Mo", "email": "mo@home.example"}
    assert service.post("/api/comments", lied, **mine).status == 201
    assert (newest(service).author, newest(service).email) == ("Ann Lee", "ann@home.example")


def test_who_has_signed_in_on_another_site_is_no_member_here(
    tmp_path: Path,
) -> None:
    both = settings(**MEMBERS)
    other = Site(name="notes", origins=("https://notes.example",), sign_in=("mail", "required"))
    with served(tmp_path, replace(both, sites=(*both.sites, other))) as service:
        mine = {"authorization": f"Bearer {signed_in(service)}"}
        sent = {"url": "https://notes.example/p/", "message": "Hi"}
        assert service.post("/api/comments", sent, **mine).status == 401


@pytest.mark.parametrize("sign_in", [(), ("mail",)])
def test_a_token_of_nobody_excuses_from_no_field(
    serve: Callable[..., Served], sign_in: tuple[str, ...]
) -> None:
    service = serve(sign_in=sign_in, email_field="required")
    for lie in ("Bearer ", "Bearer x", "Basic eA==", "x"):
        answer = service.post("/api/comments", {"url": "/p/", "message": "Hi"}, authorization=lie)
        assert answer.status == (401 if sign_in else 400), lie
    form = {"url": "/p/", "message": "Hi", "session": "x"}
    answer = service.form("/embed/thread", urlencode(form))
    assert answer.status == (401 if sign_in else 400)
    assert service.stored() == []


def test_members_only_holds_without_an_address_of_the_service(tmp_path: Path) -> None:
    closed = replace(settings(**MEMBERS), server=ServerSettings())
    with served(tmp_path, closed) as service:
        assert service.submit().status == 401


def test_an_account_without_an_address_gives_one_where_it_is_required(
    serve: Callable[..., Served],
) -> None:
    service = serve(sign_in=("mail",), email_field="required")
    mine = {"authorization": f"Bearer {signed_in(service, email='')}"}
    sent = {"url": "/p/", "message": "Hi"}
    assert set(data(service.post("/api/comments", sent, **mine))["error"]["fields"]) == {"email"}
    sent["email"] = "ann@home.example"
    assert service.post("/api/comments", sent, **mine).status == 201
    token = signed_in(service, name="Eva Vogt")
    sent = {"url": "/p/", "message": "Ho", "email": "other@home.example"}
    assert service.post("/api/comments", sent, authorization=f"Bearer {token}").status == 201
    assert newest(service).email == "ann@home.example"


def test_reading_voting_and_reporting_are_as_before_where_only_members_write(
    serve: Callable[..., Served],
) -> None:
    service = serve(**MEMBERS)
    mine = {"authorization": f"Bearer {signed_in(service)}"}
    service.post("/api/comments", {"url": "/p/", "message": "Hi"}, **mine)
    listed = service.get("/api/comments?url=/p/")
    assert listed.tags
    assert "asks" not in data(listed)
    guest = {"peer": "198.51.100.9", "content_type": "application/json"}
    for action, sent in (
        ("votes", {"vote": 1, "voter": "0123456789abcdef"}),
        ("reports", {"reason": "spam", "reporter": "0123456789abcdef"}),
    ):
        body = json.dumps(sent).encode()
        answer = service.ask("POST", f"/api/comments/1/{action}", body, **guest)
        assert answer.status in (200, 202, 204), answer.body


def test_a_form_learns_what_its_site_asks_for(serve: Callable[..., Served]) -> None:
    service = serve(
        name_field="optional",
        email_field="hidden",
        guidelines="Be *kind*. [Privacy](/privacy/) <script>x</script>",
        agreement="I agree",
        language="de",
    )
    asks = data(service.get("/api/form-token?url=/p/"))["asks"]
    html = asks.pop("guidelines")
    assert asks == {"author": "optional", "email": "hidden", "agreement": "I agree"}
    assert html.startswith('<div lang="de">')
    assert "<em>kind</em>" in html
    assert 'href="https://blog.example/privacy/"' in html
    assert "<script" not in html
    page = service.get("/embed/thread?url=/p/&view=page").body.decode()
    assert html in page
    assert "commentsvc-email" not in page
    assert ">Name (freiwillig)<" not in page
    assert ">Name (optional)<" in page


def test_a_usual_form_is_told_nothing_more(serve: Callable[..., Served]) -> None:
    options = data(serve().get("/api/form-token?url=/p/"))
    assert "asks" not in options


def test_issos_client_learns_what_is_required_and_cannot_edit_what_is_hidden(
    serve: Callable[..., Served],
) -> None:
    service = serve(name_field="optional", email_field="required", website_field="hidden")
    config = data(service.get("/isso/config"))["config"]
    assert (config["require-author"], config["require-email"]) == (False, True)
    answer = doors(service)["isso"](*FULL)
    [cookie] = [
        value.partition(";")[0]
        for name, value in answer.headers
        if name == "Set-Cookie" and value[0].isdigit()
    ]
    sent = {"text": "Changed", "author": "Rosa", "website": "https://rosa.example"}
    edited = service.ask(
        "PUT",
        "/isso/id/1",
        json.dumps(sent).encode(),
        content_type="application/json",
        origin=BLOG,
        cookie=cookie,
    )
    assert edited.status == 200, edited.body
    stored = newest(service)
    assert (stored.source, stored.author, stored.site) == ("Changed", "Rosa", "")
