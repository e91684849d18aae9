"""Settings that an owner changes in the browser: in force at once on every instance, and kept."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.e2e.program import Service, command
from tests.postgresql_server import Server

Start = Callable[..., Service]
PASSWORD = "a good new password"
OTHER = "https://other.example"


class Owner:
    """The owner ann, signed in to a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._cookies: dict[str, str] = {}
        assert self.post("sign-in", name="ann", password=PASSWORD) == 303

    def ask(self, method: str, page: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        fields = {name.replace("_", "-"): value for name, value in headers.items() if value}
        with closing(self._service.connection()) as connection:
            connection.request(method, f"/moderation/{page}", body or None, fields)
            answer = connection.getresponse()
            for name, value in answer.getheaders():
                if name == "Set-Cookie":
                    key, _, kept = value.partition(";")[0].partition("=")
                    self._cookies[key] = kept
            return answer.status, answer.read().decode()

    def post(self, page: str, **fields: object) -> int:
        _, form = self.ask("GET", page)
        csrf = re.findall(r'name="csrf_token" value="([0-9a-f]+)"', form)[0]
        body = urlencode({"csrf_token": csrf, **fields}).encode()
        kind = "application/x-www-form-urlencoded"
        return self.ask("POST", page, body, Origin="null", Content_Type=kind)[0]

    def save(self, group: str, **typed: object) -> int:
        """Save fields of a form, named as `spam__max_links`."""
        status, page = self.ask("GET", "settings")
        assert status == 200, page
        seen = re.findall(r'name="seen" value="(\d+)"', page)[0]
        fields = {f"text.{name.replace('__', '.')}": value for name, value in typed.items()}
        fields |= {"group": group, "site": "blog", "seen": seen, "password": PASSWORD}
        return self.post("settings", **fields)

    def add_site(self, name: str, origins: str) -> int:
        fields = {"do": "add", "name": name, "origins": origins, "seen": 0}
        return self.post("sites", **fields, password=PASSWORD)


def write_from(service: Service, origin: str) -> int:
    """Send a comment from a page at an origin; return the status."""
    return service.submit(f"{origin}/a/", f"Hello from {service.port}", author="Zoe").status


def add_owner(data: Path, **environ: str) -> None:
    made = command("moderator", "add", "ann", "--data", data, given=PASSWORD, environ=environ)
    assert made.code == 0, made


def test_a_changed_setting_outlives_a_restart_and_commands_know_it(
    data: Path, start: Start
) -> None:
    service = start(data)
    add_owner(data)
    owner = Owner(service)
    assert service.submit("/a/", "Hello", author="Zoe").status == 202
    assert owner.save("waiting", moderation__policy="none") == 303
    assert service.submit("/a/", "Hello again", author="Zoe").status == 201
    assert owner.save("form", site__title="Oaks") == 303
    line = 'settings: moderation.policy is "none", changed on the moderation pages by ann'
    assert line in command("check", "--data", data).out
    assert "note: " not in command("check", "--data", data).err
    assert service.stop() == 0
    assert line in command("check", "--data", data).out
    again = start(data)
    assert again.submit("/b/", "After a restart", author="Zoe").status == 201
    assert Owner(again).post("settings", undo=1, password=PASSWORD) == 303
    assert again.submit("/b/", "Once more", author="Zoe").status == 202


def test_an_added_site_outlives_a_restart_and_commands_know_it(data: Path, start: Start) -> None:
    data.mkdir(exist_ok=True)
    file = data / "commentsvc.toml"
    file.write_text('[[site]]\nname = "blog"\norigins = ["https://blog.example"]\n')
    service = start(data)
    add_owner(data)
    assert write_from(service, OTHER) == 400
    assert Owner(service).add_site("other", OTHER) == 303
    assert write_from(service, OTHER) == 202
    line = f'settings: other: site.origins is ["{OTHER}"], changed on the moderation pages by ann'
    for runs in (True, False):
        checked = command("check", "--data", data)
        assert line in checked.out
        assert "note: " not in checked.out, "neither does the file differ, nor are comments hidden"
        assert not runs or service.stop() == 0
    again = start(data)
    assert write_from(again, OTHER) == 202
    exported = command("export", "-", "--data", data, "--site", "other").out
    assert f'"site.origins","value":["{OTHER}"]' in exported.replace(" ", "")


def test_what_the_environment_sets_cannot_be_changed(data: Path, start: Start) -> None:
    service = start(data, environ={"COMMENTSVC_MODERATION_POLICY": "none"})
    add_owner(data)
    owner = Owner(service)
    assert "set by COMMENTSVC_MODERATION_POLICY" in owner.ask("GET", "settings")[1]
    assert owner.save("waiting", moderation__policy="all", spam__max_links=7) == 303
    assert service.submit("/a/", "Hello", author="Zoe").status == 201


def test_check_tries_changed_settings_on_the_last_comments(data: Path, start: Start) -> None:
    service = start(data, environ={"COMMENTSVC_MODERATION_POLICY": "none"})
    assert service.submit("/a/", "Hello", author="Zoe").status == 201
    tried = command("check", "--try", "--data", data).out.partition("tried: ")[2]
    assert tried.splitlines() == [
        "1 comment of the last 30 days",
        "  published at once: 0, with the server's settings 1",
        "  waiting: 1, with the server's settings 0",
        "  spam: 0, with the server's settings 0",
        "  published at once -> waiting: 1, such as 1",
    ]
    assert service.stop() == 0
    tried = command("check", "--try", "--data", data).out.partition("tried: ")[2]
    assert tried.splitlines()[1:] == ["  published at once: 0", "  waiting: 1", "  spam: 0"]


def test_a_sign_in_that_the_file_contradicts_refuses_a_start_and_check_says_so(
    data: Path, start: Start
) -> None:
    environ = {
        "COMMENTSVC_SERVER_PUBLIC_URL": "https://comments.example",
        "COMMENTSVC_MAIL_HOST": "localhost",
        "COMMENTSVC_MAIL_SENDER": "blog@blog.example",
        "COMMENTSVC_INBOX_ADDRESS": "comments@blog.example",
    }
    service = start(data, environ=environ)
    add_owner(data, **environ)
    assert Owner(service).save("form", site__sign_in="mail\nrequired") == 303
    assert service.stop() == 0
    environ["COMMENTSVC_SITE_COMMENTS_BY_MAIL"] = "true"
    reason = "site.sign_in of blog was changed on the moderation pages, and cannot be in force"
    refused = command("serve", "--data", data, environ=environ)
    assert refused.code != 0
    assert reason in refused.err
    checked = command("check", "--data", data, environ=environ)
    assert checked.code == 1
    assert reason in checked.err
    assert "changed on the moderation pages by ann, but not in force" in checked.out
    environ["COMMENTSVC_SITE_SIGN_IN"] = "mail"
    checked = command("check", "--data", data, environ=environ)
    assert reason not in checked.err
    assert (
        "but not in force: It is set by COMMENTSVC_SITE_SIGN_IN, which has priority." in checked.out
    )


@pytest.fixture
def pair(
    data: Path, start: Start, postgresql_server: Server, tmp_path: Path
) -> Iterator[tuple[Service, Service]]:
    """Two instances on one PostgreSQL, with data folders of their own."""
    postgresql_server.run("CREATE DATABASE settings_of_two")
    environ = {
        "COMMENTSVC_DATABASE_URL": postgresql_server.url("settings_of_two"),
        "COMMENTSVC_AUTH_SECRET_KEY": "k" * 32,
        "COMMENTSVC_SPAM_RATE_LIMIT": "off",
    }
    other = tmp_path / "other"
    other.mkdir()
    with ExitStack() as stack:
        first, second = start(data, environ=environ), start(other, environ=environ)
        stack.callback(postgresql_server.run, "DROP DATABASE settings_of_two WITH (FORCE)")
        stack.callback(first.stop)
        stack.callback(second.stop)
        add_owner(data, **environ)
        yield first, second


@pytest.mark.sqlite_only("it makes its own database, of PostgreSQL")
def test_an_acknowledged_change_is_in_force_on_every_instance(
    pair: tuple[Service, Service],
) -> None:
    first, second = pair
    owner, other = Owner(first), Owner(second)
    for number in range(10):
        policy = ("none", "all")[number % 2]
        at = (owner, other)[number % 3 == 0]
        assert at.save("waiting", moderation__policy=policy) == 303
        expected = 201 if policy == "none" else 202
        for service in pair:
            assert (
                service.submit("/a/", f"Text {number} at {service.port}", author="Zoe").status
                == expected
            )


@pytest.mark.sqlite_only("it makes its own database, of PostgreSQL")
def test_an_added_site_is_served_by_every_instance(pair: tuple[Service, Service]) -> None:
    first, second = pair
    owner, other = Owner(first), Owner(second)
    assert owner.add_site("other", OTHER) == 303
    assert [write_from(service, OTHER) for service in pair] == [202, 202]
    removal = {"do": "remove", "name": "other", "seen": 9, "password": PASSWORD}
    assert other.post("sites", **removal) == 303
    assert [write_from(service, OTHER) for service in pair] == [400, 400]


@pytest.mark.sqlite_only("it makes its own database, of PostgreSQL")
def test_a_cached_answer_is_not_used_after_an_acknowledged_change(
    pair: tuple[Service, Service],
) -> None:
    owner = Owner(pair[0])
    for votes in ("off", "both", "up"):
        for service in pair:
            service.request("GET", "/api/comments?url=/a/")
        assert owner.save("readers", comments__votes=votes) == 303
        for service in pair:
            assert (
                service.request("GET", "/api/comments?url=/a/").json().get("voting", "off") == votes
            )
