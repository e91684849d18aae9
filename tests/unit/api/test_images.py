"""Images in comments: uploads, what is refused, and who sees an image when."""

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from msgspec.structs import replace
from PIL import Image

from commentsvc.api import image_worker
from commentsvc.api import images as api_images
from commentsvc.comments import images
from commentsvc.errors import ImagesFull
from commentsvc.http.messages import Response
from commentsvc.markup import image_names
from commentsvc.model import APPROVED, DELETED, PENDING, SPAM
from commentsvc.moderation import changes, personal_data, retention, undo
from commentsvc.settings.schema import (
    CommentsSettings,
    PrivacySettings,
    ServerSettings,
    Settings,
    Site,
    SpamSettings,
)
from commentsvc.submissions import service as submissions
from tests.unit.app_fixture import SETTINGS, Served, data, faults, served

BASE = "https://comments.example"
PICTURED: Settings = replace(
    SETTINGS,
    server=ServerSettings(public_url=BASE),
    comments=CommentsSettings(image_kib=64),
    sites=(replace(SETTINGS.sites[0], images=True), Site(name="notes")),
)
ORIGIN = "https://blog.example"


def picture(colour: str = "red", kind: str = "PNG") -> bytes:
    output = BytesIO()
    Image.new("RGB", (40, 30), colour).save(output, kind)
    return output.getvalue()


# Starting the process costs more than all else here. `test_image_worker` starts it for each kind.
START, CHECK = api_images._run_worker, api_images.is_confined


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pictures in this process, but where a test says otherwise."""

    async def answer(content: bytes) -> bytes:
        return image_worker.answer(content)

    monkeypatch.setattr(api_images, "_run_worker", answer)
    monkeypatch.setattr(api_images, "is_confined", lambda: True)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, PICTURED) as running:
        yield running


def upload(service: Served, content: bytes = b"", url: str = "/p/", **headers: str) -> Response:
    return service.ask("POST", f"/api/images?url={url}", content or picture(), **headers)


def uploaded(service: Served, colour: str = "red") -> str:
    """Return the name of an image that was uploaded."""
    answer = upload(service, picture(colour))
    assert answer.status == 201, answer.body
    return str(data(answer)["image"]).removeprefix("image:")


def request(service: Served, name: str) -> Response:
    return service.get(f"/images/{name}.webp")


def decide(service: Served, to: str, comment_id: int = 1) -> None:
    service.database.write_now(changes.change, [comment_id], to, "bob", 0)


def test_an_image_is_shown_while_its_comment_is(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_images, "_run_worker", START)
    answer = upload(service, origin=ORIGIN)
    name = data(answer)["image"].removeprefix("image:")
    assert data(answer)["url"] == f"{BASE}/images/{name}.webp"
    assert dict(answer.headers)["Access-Control-Allow-Origin"] == ORIGIN
    assert name.endswith("-40x30")
    assert request(service, name).status == 404, "it belongs to no comment yet"
    sent = service.submit(f'See ![A "red" *field*](image:{name})')
    assert data(sent)["comment"]["html"] == (
        f'<p>See <img src="{BASE}/images/{name}.webp" alt="A &quot;red&quot; field" width="40"'
        ' height="30" loading="lazy"></p>\n'
    )
    for status in (PENDING, APPROVED, SPAM, APPROVED, DELETED):
        decide(service, status)
        assert request(service, name).status == (200 if status == APPROVED else 404), status
    for wrong in ("x", f"{'0' * 32}-1x1", f"{name}x", f"../{name}"):
        assert request(service, wrong).status in (400, 404)


def test_an_image_is_sent_as_nothing_else_and_is_cached(service: Served) -> None:
    name = uploaded(service)
    service.submit(f"![A field](image:{name})")
    answer = request(service, name)
    headers = dict(answer.headers)
    assert headers["Content-Type"] == "image/webp"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert headers["Content-Disposition"] == f'inline; filename="{name}.webp"'
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert answer.tags == ("thread:blog:/p/",)
    assert image_names.is_named_so(name, answer.body)
    assert Image.open(BytesIO(answer.body)).size == (40, 30)
    service.purged.clear()
    decide(service, DELETED)
    assert "thread:blog:/p/" in service.purged


def test_only_our_own_images_are_images(service: Served) -> None:
    name = uploaded(service)
    for markdown, html in (
        ("![x](https://elsewhere.example/x.png)", '<a href="https://elsewhere.example/x.png"'),
        (f"![x](//elsewhere.example/images/{name}.webp)", "<p>x</p>"),
        ("![x](image:x)", "<p>x</p>"),
        ("[x](image:javascript)", "<p>x</p>"),
        (f"`![x](image:{name})`", f"<code>![x](image:{name})</code>"),
        (f"![x](image:{name}/../../y)", "<p>x</p>"),
    ):
        shown = data(service.post("/api/preview?url=/p/", {"message": markdown}))["html"]
        assert html in shown, markdown
        assert "<img" not in shown, markdown


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", picture()[:40], picture(kind="TIFF")],
    ids=["empty", "svg", "truncated", "tiff"],
)
def test_what_is_no_picture_is_refused_beside_the_field(service: Served, content: bytes) -> None:
    answer = service.ask("POST", "/api/images?url=/p/", content)
    assert (answer.status, faults(answer)) == (400, ["image"])
    assert "JPEG, PNG, WebP or GIF" in data(answer)["error"]["fields"]["image"]


def test_a_picture_that_is_too_large_is_refused(service: Served) -> None:
    content = picture() + bytes(64 << 10)
    assert "too large" in data(upload(service, content))["error"]["fields"]["image"]


def test_images_have_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_images, "UPLOADS", "3/day")
    monkeypatch.setattr(submissions, "IMAGES", 2)
    with served(tmp_path, replace(PICTURED, spam=SpamSettings())) as service:
        names = [uploaded(service, colour) for colour in ("red", "green", "blue")]
        answer = upload(service)
        assert (answer.status, "Retry-After" in dict(answer.headers)) == (429, True)
        three = " ".join(f"![x](image:{name})" for name in names)
        assert faults(service.submit(three)) == ["message"]
        assert service.submit(three.rpartition(" ")[0]).status == 201
        token = data(service.submit(f"{three.partition(' ')[0]} again"))["token"]
        edit = {"message": three}
        answer = service.ask(
            "PATCH",
            "/api/comments/2",
            json.dumps(edit).encode(),
            content_type="application/json",
            authorization=f"Bearer {token}",
        )
        assert faults(answer) == ["message"]
        monkeypatch.setattr(images, "put", _full)
        answer = upload(service, peer="198.51.100.1")
        assert "no room" in data(answer)["error"]["fields"]["image"]
        monkeypatch.setattr(api_images, "WAITING", 0)
        assert upload(service, peer="198.51.100.1").status == 503


def _full(*_given: object) -> None:
    raise ImagesFull


def test_a_network_with_its_share_of_pictures_waits_and_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "LEAST_SHARE", 150)
    monkeypatch.setattr(images, "SHARE", 10**9)
    with served(tmp_path, PICTURED) as service:
        for peer, colour, status in (
            ("192.0.2.1", "red", 201),
            ("192.0.2.99", "green", 429),
            ("198.51.100.1", "blue", 201),
            ("2001:db8:1::1", "lime", 201),
            ("2001:db8:1:ff00::1", "teal", 429),
            ("2001:db8:2::1", "navy", 201),
        ):
            answer = upload(service, picture(colour), peer=peer)
            assert answer.status == status, peer
            assert ("Retry-After" in dict(answer.headers)) == (status == 429)
        [(rows, hashes)] = service.database.read_now(
            lambda snapshot: snapshot.execute(
                "SELECT count(*), count(DISTINCT network) FROM image"
            ).fetchall()
        )
        assert (rows, hashes) == (4, 4)


def test_no_network_is_stored_with_a_picture_where_none_is_kept(tmp_path: Path) -> None:
    with served(tmp_path, replace(PICTURED, privacy=PrivacySettings(keep_network_days=0))) as here:
        uploaded(here)
        assert here.database.read_now(
            lambda snapshot: snapshot.execute("SELECT network FROM image").fetchall()
        ) == [(None,)]


def test_a_foreign_page_or_site_uploads_nothing(service: Served) -> None:
    assert upload(service, origin="https://elsewhere.example").status == 403
    assert service.ask("POST", "/api/images?url=/p/&site=notes", picture()).status == 404
    assert faults(service.ask("POST", "/api/images", picture())) == ["url"]


def form(**parts: str | bytes) -> tuple[bytes, str]:
    """Return the body of a multipart form and its type; a part of bytes is a file."""
    body = b""
    for name, value in parts.items():
        file = '; filename="x.png"\r\nContent-Type: image/png' if isinstance(value, bytes) else ""
        content = value if isinstance(value, bytes) else value.encode()
        head = f'--B\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
        body += head.encode() + content + b"\r\n"
    return body + b"--B--\r\n", "multipart/form-data; boundary=B"


def send(service: Served, **parts: str | bytes) -> Response:
    body, content_type = form(url="/p/", author="Ann", **parts)
    return service.ask("POST", "/embed/thread", body, content_type=content_type)


def test_a_form_without_scripts_sends_a_picture(service: Served) -> None:
    page = service.get("/embed/thread?url=/p/&lang=de").body.decode()
    assert 'enctype="multipart/form-data"' in page
    assert 'name="image"' in page
    assert '<bdi dir="ltr">(JPEG, PNG, WebP, GIF; ≤ 64 KiB)</bdi></label>' in page
    answer = send(service, message="Look:", image=picture(), alt="A [red] *field*\n")
    assert answer.status == 201, answer.body.decode()
    page = service.get("/embed/thread?url=/p/&view=page").body.decode()
    [name, alt] = re.findall(r'<img src="[^"]*/images/(.*?)\.webp" alt="(.*?)"', page)[0]
    assert alt == "A [red] *field*"
    assert request(service, name).status == 200
    assert send(service, message="", image=picture("blue"), alt="Blue").status == 201
    assert send(service, message="None", image=b"", alt="").status == 201


def test_a_form_that_is_refused_keeps_the_text(service: Served) -> None:
    wrong: tuple[tuple[dict[str, str | bytes], str], ...] = (
        ({"image": b"no picture", "alt": "Something"}, "commentsvc-image-fault"),
        ({"image": picture(), "alt": " "}, "commentsvc-alt-fault"),
    )
    for parts, named in wrong:
        answer = send(service, message="A long text", **parts)
        html = answer.body.decode()
        assert answer.status == 400
        assert f'id="{named}"' in html
        assert "A long text</textarea>" in html
    body, content_type = form(url="/p/", author="", message="Look", image=picture(), alt="Red")
    html = service.ask("POST", "/embed/thread", body, content_type=content_type).body.decode()
    assert re.search(r"Look\n\n!\[Red\]\(image:[0-9a-f]{32}-40x30\)</textarea>", html)
    plain = service.get("/embed/thread?url=/p/&site=notes").body.decode()
    assert "multipart" not in plain


def test_only_a_picture_may_be_larger_than_other_bodies(service: Served) -> None:
    room = PICTURED.server.max_body_kib << 10
    plain = b"url=/p/&author=Ann&message=" + bytes(room)
    urlencoded = "application/x-www-form-urlencoded"
    for path, body, content_type in (
        ("/embed/thread", plain, urlencoded),
        ("/embed/thread", *form(url="/p/", author="Ann", message="x" * room)),
        ("/embed/reactions", plain, urlencoded),
        ("/api/comments", b"{}" + b" " * room, "application/json"),
    ):
        answer = service.ask("POST", path, body, content_type=content_type)
        assert answer.status == 413, path
        html = answer.body.decode()
        page = path == "/embed/thread"
        assert ("Your comment is too long." if page else "or a smaller picture.") in html
        assert "<form" not in html, "it could not say for which page it is"
    assert upload(service, picture() + bytes(room)).status == 400


def test_an_erased_comment_takes_its_images_along(service: Served) -> None:
    red, blue = uploaded(service), uploaded(service, "blue")
    service.submit(f"![Red](image:{red}) ![Blue](image:{blue})", email="ann@blog.example")
    service.submit(f"![Blue](image:{blue})", author="Bea")
    export = service.database.read_now(personal_data.export, "ann@blog.example", 0)
    [url, _] = export.comments[0].images
    kind, _, content = url.partition(",")
    assert kind == "data:image/webp;base64"
    assert b64decode(content).startswith(b"RIFF")
    service.database.write_now(retention.forget, "ann@blog.example", "bob", 0)
    assert service.database.read_now(images.stored, red) == {}
    assert [request(service, name).status for name in (red, blue)] == [404, 200]


def test_an_image_that_was_edited_out_is_shown_no_more(service: Served) -> None:
    name = uploaded(service)
    service.submit(f"![Red](image:{name})")
    service.database.write_now(changes.edit, 1, "Nothing", "bob", 0)
    assert request(service, name).status == 404
    service.database.write_now(undo.last, [1], "bob", 1)
    assert request(service, name).status == 200


def test_a_worker_that_hangs_is_ended(
    service: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(api_images, "PATIENCE", 0.2)
    monkeypatch.setattr(api_images, "_run_worker", START)
    script = tmp_path / "image_worker.py"
    script.write_text("import sys, time\nsys.stdin.buffer.read()\ntime.sleep(60)\n")
    monkeypatch.setattr(api_images, "__file__", str(tmp_path / "images.py"))
    assert faults(upload(service)) == ["image"]


def test_the_log_says_once_at_start_if_system_calls_cannot_be_filtered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(api_images, "is_confined", CHECK)
    script = tmp_path / "image_worker.py"
    script.write_text(f"raise SystemExit({image_worker.UNFILTERED})")
    for worker, times in ((Path(api_images.__file__), 0), (script, 1)):
        monkeypatch.setattr(api_images, "__file__", str(worker))
        caplog.clear()
        with served(tmp_path, PICTURED):
            assert caplog.text.count(api_images.UNCONFINED) == times
