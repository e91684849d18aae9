"""Signing in with OpenID Connect in a real browser; the provider is a separate program."""

import json
import socket
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, expect

from loadtest.harness.running import free_port
from tests.admin_e2e.moderator_browser import PASSWORD, sign_out
from tests.conftest import visit
from tests.e2e.program import command, serving, wait_for

CLAIMS = {"sub": "mo at work", "email": "mo@blog.example", "email_verified": True}


def answers(port: int) -> bool:
    """Return whether something listens at the address."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_a_moderator_signs_in_by_a_provider(chromium: Browser, tmp_path: Path) -> None:
    """The provider is another site, so the first request after its redirect lacks our cookie."""
    port = free_port()
    words = ("--port", str(port), "--user-claims", json.dumps(CLAIMS))
    provider = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    environ = {
        "COMMENTSVC_OIDC_ISSUER": f"http://127.0.0.1:{port}",
        "COMMENTSVC_OIDC_CLIENT_ID": "comments",
        "COMMENTSVC_OIDC_CLIENT_SECRET": "a secret",
        "COMMENTSVC_OIDC_NAME": "Our Id",
        "COMMENTSVC_HOOKS_ALLOWED_NETWORKS": "127.0.0.0/8",
    }
    data = tmp_path / "data"
    try:
        with serving(data, environ) as service:
            named = ("--email", CLAIMS["email"], "--data", data)
            assert command("moderator", "add", "mo", "--data", data, given=PASSWORD).code == 0
            assert command("moderator", "profile", "mo", *named).code == 0
            wait_for(lambda: answers(port), "the provider")
            origin = service.address.replace("127.0.0.1", "localhost")
            with visit(chromium, origin) as context:
                page = context.new_page()
                page.goto("/moderation/account")
                page.get_by_role("link", name="Sign in with Our Id").click()
                page.get_by_role("button", name="mo at work").click()
                expect(page.get_by_role("heading", level=1)).to_have_text("Account of mo")
                expect(sign_out(page)).to_be_visible()
    finally:
        provider.terminate()
        provider.wait()
