"""The API for Stacosys: what its released clients send, and the answers that they expect."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import msgspec
import pytest

from commentsvc.compat.stacosys import CommentsXmlFile, stacosys_site
from commentsvc.settings.schema import MailSettings, Site, StacosysSettings
from commentsvc.util.timestamps import local
from tests.unit.admin_client import employ
from tests.unit.app_fixture import NOW, SETTINGS, Served, data, served, waiting

MD5 = "8667278f970b1ae1f77d3ad166620cc8"
MULTIPART = "multipart/form-data; boundary=x"


def parts(**fields: str) -> bytes:
    head = 'Content-Disposition: form-data; name="'
    return (
        "".join(f'--x\r\n{head}{name}"\r\n\r\n{text}\r\n' for name, text in fields.items()).encode()
        + b"--x--\r\n"
    )


def test_the_form_of_version_3_is_stored_and_redirected(service: Served) -> None:
    body = f"message=*Hi*&site=Ann.Example&remarque=&author=%20Ann%20&token=x&url=/p/&email={MD5}"
    answer = service.form("/newcomment", body)
    assert (answer.status, dict(answer.headers)["Location"], answer.body) == (302, "/", b"")
    [entry] = service.stored()
    comment = entry.comment
    assert (entry.url, comment.author, comment.avatar, comment.email) == ("/p/", "Ann", MD5, "")
    assert (comment.site, comment.source) == ("http://ann.example", "*Hi*")


def test_its_form_may_be_multipart(service: Served) -> None:
    body = parts(url="/p/", author="Ann", message="Hi\r\nho")
    assert service.ask("POST", "/newcomment", body, content_type=MULTIPART).status == 302
    assert service.stored()[0].comment.source == "Hi\nho"


@pytest.mark.parametrize(
    "body",
    [
        "author=Ann&message=Hi",
        "url=/p/&message=Hi",
        "url=/p/&author=Ann",
        "url=/p/&author=%20&message=Hi",
        "url=/p/&author=Ann&message=",
        "url=/p/&author=Ann&message=Hi&remarque=x",
        "url=/p/&author=Ann&message=Hi&captcha=x",
        "url=/p/&author=Ann&message=Hi&captcha=x&remarque=",
        "",
    ],
)
def test_a_form_that_stacosys_refuses_is_refused(service: Served, body: str) -> None:
    assert service.form("/newcomment", body).status == 400
    assert service.stored() == []


@pytest.mark.parametrize("more", ["captcha=", "captcha=&subscribe=", "name=x&parent=1&key=k"])
def test_what_other_versions_forms_hold_is_ignored(service: Served, more: str) -> None:
    answer = service.form("/newcomment", f"url=/p/&author=Ann&message=Hi&{more}")
    assert answer.status == 302
    assert service.stored()[0].comment.parent_id is None


def test_json_to_the_form_is_refused(service: Served) -> None:
    fields = {"url": "/p/", "author": "Ann", "message": "Hi"}
    assert service.post("/newcomment", fields).status == 400
    assert service.stored() == []


def test_only_post_reaches_the_form(service: Served) -> None:
    assert service.get("/newcomment").status == 405


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("", ""),
        (" ", ""),
        ("Blog.Example/A", "http://blog.example/a"),
        ("HTTPS://Blog.Example", "https://blog.example"),
        ("http://blog.example", "http://blog.example"),
        ("javascript:alert(1)", ""),
        ("http javascript", ""),
        ("httpd.example", ""),
        ("a b", ""),
        ("blog.example/" + "a" * 400, ""),
    ],
)
def test_an_authors_site_is_read_by_its_rule(site: str, expected: str) -> None:
    assert stacosys_site(site) == expected


@pytest.mark.parametrize(
    ("email", "avatar"),
    [(MD5, MD5), (MD5.upper(), MD5), ("Ann@Blog.Example", MD5), ("", ""), ("x", ""), ("<b>", "")],
)
def test_an_email_is_a_digest_for_the_avatar(service: Served, email: str, avatar: str) -> None:
    body = parts(url="/p/", author="Ann", message="Hi", email=email)
    service.ask("POST", "/newcomment", body, content_type=MULTIPART)
    comment = service.stored()[0].comment
    assert (comment.avatar, comment.email) == (avatar, "")


@pytest.mark.parametrize("prefix", ["/api", ""])
def test_every_version_reads_what_was_stored(service: Served, prefix: str) -> None:
    service.form("/newcomment", f"url=/p/&author=Ann&message=*Hi*&site=a.example&email={MD5}")
    service.now += 60
    service.form("/newcomment", "url=/p/&author=Bob&message=Ho")
    ann, bob = data(service.get(f"{prefix}/comments?url=/p/&token=x"))["data"]
    keys = ("author", "avatar", "content", "date", "site")
    assert [ann[key] for key in keys] == [
        "Ann",
        "",  # the digest is shown only if the site has avatars
        "*Hi*",
        local(int(NOW) * 1_000),
        "http://a.example",
    ]
    assert (bob["author"], bob["avatar"], "site" in bob) == ("Bob", "", False)
    assert data(service.get(f"{prefix}/comments/count?url=/p/&token=x")) == {"count": 2}
    assert data(service.get(f"{prefix}/comments/count")) == {"count": 2}
    assert data(service.get(f"{prefix}/comments/count?url=")) == {"count": 2}
    assert service.get(f"{prefix}/ping").body == b"OK"


def test_the_content_of_the_old_interface_cannot_run_in_its_readers_pages(service: Served) -> None:
    message = "*Hi* <script>alert(1)</script> [a](javascript:alert(1))"
    service.submit(message)
    answer = service.get("/comments?url=/p/")
    [shown] = data(answer)["data"]
    assert shown["content"] == "*Hi* &lt;script>alert(1)&lt;/script> [a](./javascript:alert(1))"
    assert answer.tags == ("thread:blog:/p/",)
    [ours] = data(service.get("/api/comments?url=/p/"))["data"]
    assert ours["content"] == message


OLD = {
    "token": "x",
    "url": "/p/",
    "author": "Ann",
    "email": "Ann@Blog.Example",
    "site": "Ann.Example",
    "captcha": "",
    "subscribe": False,
    "message": "Hi",
}


def test_the_json_of_version_1_is_stored(service: Served) -> None:
    answer = service.post("/comments", OLD)
    assert (answer.status, answer.body) == (200, b"OK")
    comment = service.stored()[0].comment
    assert (comment.author, comment.avatar, comment.site) == ("Ann", MD5, "http://ann.example")


@pytest.mark.parametrize(
    "changed", [{"captcha": "x"}, {"author": ""}, {"message": None}, {"url": ""}, {"site": 1}]
)
def test_the_json_of_version_1_that_is_wrong_is_refused(
    service: Served, changed: dict[str, object]
) -> None:
    assert service.post("/comments", OLD | changed).status == 400
    assert service.stored() == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"url": "\xff"}'])
def test_what_is_no_json_of_version_1_is_refused(service: Served, body: bytes) -> None:
    assert service.ask("POST", "/comments", body, content_type="application/json").status == 400
    assert service.form("/comments", "url=/p/&author=Ann&message=Hi").status == 400


@pytest.mark.parametrize("path", ["/web", "/web/login", "/web/admin"])
@pytest.mark.parametrize("folder", ["", "/comments"])  # which a proxy removes
def test_its_moderation_pages_lead_to_ours(service: Served, path: str, folder: str) -> None:
    answer = service.get(path)
    target = urljoin(folder + path, dict(answer.headers)["Location"])
    assert (answer.status, target) == (302, f"{folder}/web/moderation")
    assert service.form(path, "action=approve&comment=1").status == 405


def test_the_moderation_pages_are_below_web_too(service: Served) -> None:
    """A proxy may forward /web alone, so no link there leads out of it."""
    employ(service)
    page = "/web/moderation"
    while (shown := service.ask("GET", page, sec_fetch_site="none")).status == 303:
        page = urljoin(page, dict(shown.headers)["Location"])
        assert page.startswith("/web/moderation/")
    assert (shown.status, page.partition("?")[0]) == (200, "/web/moderation/sign-in")
    for name in re.findall(r'(?:href|src)="(\.\.[^"]+)"', shown.body.decode()):
        assert service.get(urljoin(page, name)).status == 200


@pytest.fixture
def by_token(tmp_path: Path) -> Iterator[Served]:
    """Return a service whose second site has a token."""
    sites = (SETTINGS.sites[0], Site(name="notes", token="9fb3fc042c572cb8"))
    with served(tmp_path, msgspec.structs.replace(SETTINGS, sites=sites)) as service:
        yield service


def test_a_token_names_the_site(by_token: Served) -> None:
    token = "9fb3fc042c572cb8"
    sent = {"url": "/p/", "author": "Ann", "message": "By JSON", "token": token}
    assert by_token.post("/comments", sent).status == 200
    form = f"url=/p/&author=Ann&message=By+form&token={token}"
    assert by_token.form("/newcomment", form).status == 302
    assert by_token.form("/newcomment", "url=/p/&author=Ann&message=First").status == 302
    assert {each.site for each in by_token.stored()} == {"notes", "blog"}
    query = f"url=/p/&token={token}"
    assert data(by_token.get(f"/comments/count?{query}")) == {"count": 2}
    assert data(by_token.get("/comments/count?url=/p/")) == {"count": 1}
    listed = data(by_token.get(f"/comments?{query}"))["data"]
    assert [each["content"] for each in listed] == ["By JSON", "By form"]


def test_an_unknown_token_is_not_found(by_token: Served) -> None:
    sent = {"url": "/p/", "author": "Ann", "message": "Lost?", "token": "other"}
    assert by_token.post("/comments", sent).status == 404
    form = "url=/p/&author=Ann&message=Hi&token=other"
    assert by_token.form("/newcomment", form).status == 404
    for path in ("/comments", "/comments/count"):
        assert by_token.get(f"{path}?url=/p/&token=other").status == 404
        assert by_token.get(f"{path}?url=/p/&site=blog&token=other").status == 404
    assert by_token.stored() == []


def test_the_ten_newest_comments_are_a_feed(service: Served) -> None:
    for number in range(12):
        service.submit(f"Number {number}")
    answer = service.get("/comments.xml")
    assert dict(answer.headers)["Content-Type"] == "application/rss+xml"
    assert answer.body.count(b"<item>") == 10
    assert b"Number 11" in answer.body
    assert answer.tags == ("site:blog",)


def test_the_newest_comments_are_written_to_a_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "comments.xml"
    settings = msgspec.structs.replace(SETTINGS, stacosys=StacosysSettings(rss_file=str(path)))
    (tmp_path / "data").mkdir()
    with served(tmp_path / "data", settings) as service:
        file = CommentsXmlFile(service.service)
        service.submit("Number 1")
        path.mkdir()  # it cannot be written
        asyncio.run(file.write())
        assert "cannot be written" in caplog.text
        path.rmdir()
        asyncio.run(file.write())
        assert path.read_bytes() == service.get("/comments.xml").body
        service.submit("Number 2")
        asyncio.run(file.write())
        assert b"Number 2" in path.read_bytes()
        path.unlink()
        asyncio.run(file.write())
        assert not path.exists(), "nothing has changed"


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/report?token=a&secret=b", "/moderation"),
        ("/accept?id=1&secret=b", "/moderation"),
        ("/reject?id=1&secret=b", "/moderation"),
        ("/unsubscribe?token=a", "/mail/stop?t=former"),
    ],
)
def test_links_in_mails_of_version_1_lead_on(service: Served, target: str, location: str) -> None:
    answer = service.get(target)
    assert answer.status == 302
    assert urljoin(target, dict(answer.headers)["Location"]) == location
    if "?" in location:
        ended = service.get(location)
        assert ended.status == 410
        assert "This subscription does not exist any more." in ended.body.decode()


@pytest.fixture
def mailing(tmp_path: Path) -> Iterator[Served]:
    """Return a service that sends mail."""
    mail = MailSettings(host="localhost", sender="comments@blog.example")
    with served(tmp_path, msgspec.structs.replace(SETTINGS, mail=mail)) as service:
        yield service


@pytest.mark.parametrize(
    ("wish", "asked"), [(True, 1), ("on", 1), (False, 0), ("", 0), ("off", 0), (None, 0)]
)
def test_who_subscribes_as_in_version_1_is_asked_to_confirm(
    mailing: Served, wish: object, asked: int
) -> None:
    """Its script sends what it finds in the form's field, also for a tick box without a tick."""
    sent = {"url": "/p/", "author": "Ann", "message": "Hi", "email": "Ann@home.example"}
    more = {"token": "x", "site": "", "captcha": "", "subscribe": wish}
    assert mailing.post("/comments", sent | more).status == 200
    assert [(row.kind, row.recipient) for row in waiting(mailing)] == [
        ("follow", "Ann@home.example")
    ] * asked
    assert mailing.stored()[0].comment.email == ("Ann@home.example" if asked else "")


def test_the_form_of_version_2_subscribes_too_but_not_with_a_digest(mailing: Served) -> None:
    form = "url=/p/&author=Ann&message=Hi&subscribe=on"
    assert mailing.form("/newcomment", f"{form}&email=ann@home.example").status == 302
    assert mailing.form("/newcomment", f"{form}+again&email={MD5}").status == 302
    assert [row.recipient for row in waiting(mailing)] == ["ann@home.example"]
