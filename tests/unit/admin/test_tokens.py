"""The page of an account's tokens."""

import re
from pathlib import Path

from commentsvc.moderation import profiles
from tests.unit.admin_client import PASSWORD, Seat, employ, header, seated, text
from tests.unit.app_fixture import served


def test_a_token_is_made_shown_once_and_revoked(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        seat = seated(service, "rosa")
        fields = {"name": "bot", "scope": "decide", "sites": ["notes"], "days": 30}
        made = text(seat.send("tokens", **fields, password=PASSWORD))
        [token] = re.findall(r"<code>(cs_[\w-]{43})</code>", made)
        page = text(seat.get("tokens"))
        assert token not in page
        assert "read and decide" in page
        assert "never used" in page
        bearer = f"Bearer {token}"
        assert service.ask("GET", "/api/moderation/comments", authorization=bearer).status == 200
        employ(service, "mo")
        other = Seat(service)
        other.sign_in("mo")
        other.send("tokens", revoke=1)
        assert service.ask("GET", "/api/moderation/comments", authorization=bearer).status == 200
        assert header(seat.send("tokens", revoke=1), "Location") == "tokens?done=revoked"
        assert service.ask("GET", "/api/moderation/comments", authorization=bearer).status == 401


def test_a_token_is_not_made_for_what_cannot_be(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        seat = seated(service, "rosa")
        good = {"name": "bot", "scope": "read", "days": "30"}
        for wrong in ({"name": ""}, {"scope": "all"}, {"days": "9999"}, {"sites": ["x"]}):
            assert seat.send("tokens", **{**good, **wrong}).status == 400
        employ(service, "mo")
        service.database.write_now(profiles.assign, "mo", "viewer", ["notes"])
        other = Seat(service)
        other.sign_in("mo")
        assert other.send("tokens", **good, sites=["blog"]).status == 400
        scopes = r'<option value="(read|decide|administer)"'
        assert re.findall(scopes, text(seat.get("tokens"))) == ["read", "decide", "administer"]
        assert re.findall(scopes, text(other.get("tokens"))) == ["read"]
        assert other.send("tokens", **{**good, "scope": "decide"}).status == 400
