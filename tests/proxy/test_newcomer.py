"""README.md and docs/installing.md followed by a newcomer, from two lines to the first comment.

tests/e2e/test_installed.py installs the package, test_doctor.py checks the certificate.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import trustme
from playwright.sync_api import Browser, Page, expect

from loadtest.harness.running import free_ports
from loadtest.proxies.configs import Command, ProxyValues, caddy
from tests.conftest import PATIENCE_MS
from tests.e2e.program import ROOT, Service, command
from tests.proxy.proxies import checked, running

# Browsers look for these names on their own machine.
COMMENTS, BLOG = "comments.localhost", "blog.localhost"
PASSWORD = "some good words"


def example(page: str, heading: str, language: str) -> str:
    """Return the first example in `language` below a heading of a page."""
    text = (ROOT / page).read_text().partition(f"# {heading}\n")[2]
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


def replace(text: str, changes: dict[str, str]) -> str:
    """Replace what the manual tells its reader to replace."""
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def caddy_with_blog(values: ProxyValues) -> Command:
    """Return Caddy with the shipped file and, as the manual says, the blog's files on the same."""
    made = caddy(values)
    tls = f"\ttls {values.chain} {values.key}\n"
    folder = values.folder / "blog"
    changes = {"blog.YOUR-BLOG.org": BLOG, "/var/www/blog": str(folder), "}\n": f"{tls}}}\n"}
    with (values.folder / "Caddyfile").open("a") as file:
        file.write(replace(example("docs/installing.md", "The proxy", "caddyfile"), changes))
    return made


def visitor(chromium: Browser) -> Page:
    """Open the blog as a new visitor."""
    context = chromium.new_context(ignore_https_errors=True, locale="en-GB")
    context.set_default_timeout(PATIENCE_MS)
    return context.new_page()


def test_the_manual_leads_to_an_approved_comment_on_a_blog_with_another_origin(
    chromium: Browser, authority: trustme.CA, tmp_path: Path
) -> None:
    http, https = free_ports()
    blog, comments = f"https://{BLOG}:{https}", f"https://{COMMENTS}:{https}"
    addresses = {"https://blog.example": blog, "https://comments.example": comments}
    data, post = tmp_path / "data", tmp_path / "blog/post/a-walk"
    data.mkdir(mode=0o700)
    settings = example("docs/installing.md", "Settings", "toml")
    (data / "commentsvc.toml").write_text(replace(settings, addresses))
    lines = example("README.md", "Embed it", "html").replace("https://comments.example", comments)
    post.mkdir(parents=True)
    (post / "index.html").write_text(f"<!doctype html><title>A walk</title>{lines}")
    certificate = authority.issue_cert(COMMENTS, BLOG)
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    certificate.cert_chain_pems[0].write_to_path(chain)
    certificate.private_key_pem.write_to_path(key)

    with TemporaryDirectory() as folder:
        service = Service(data, listen=f"unix:{folder}/commentsvc.sock")
        values = ProxyValues(
            tmp_path, f"unix:{folder}/commentsvc.sock", chain, key, http, https, COMMENTS
        )
        try:
            service.wait_until_ready()
            made = command("moderator", "add", "me", "--data", data, given=PASSWORD)
            assert made.code == 0, made
            with running(checked(caddy_with_blog, values), values):
                walk_through(chromium, f"{blog}/post/a-walk/", f"{comments}/moderation")
        finally:
            service.close()


def walk_through(chromium: Browser, post: str, moderation: str) -> None:
    """Write a comment, approve it, and read it, each as somebody else."""
    reader, moderator, other = (visitor(chromium) for _ in range(3))
    reader.goto(post)
    reader.locator("comment-thread textarea").focus()
    reader.get_by_label("Name").fill("Rosa")
    reader.locator("comment-thread textarea").fill("What a *walk*!")
    reader.get_by_role("button", name="Send comment").click()
    expect(reader.locator(".commentsvc-note")).to_contain_text("is waiting for approval")

    moderator.goto(moderation)
    moderator.get_by_label("Name").fill("me")
    moderator.get_by_label("Password").fill(PASSWORD)
    moderator.get_by_role("button", name="Sign in").click()
    comment = moderator.get_by_role("article").filter(has_text="What a walk!")
    comment.get_by_role("button", name="Approve").click()
    expect(comment).to_have_count(0)

    other.goto(post)
    expect(other.get_by_role("heading", name="1 comment")).to_be_visible()
    expect(other.get_by_text("What a walk!")).to_be_visible()
    for page in (reader, moderator, other):
        page.context.close()
