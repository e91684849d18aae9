"""Where plain HTTP is redirected. tests/proxy shows behind hitch that the listener works."""

import pytest

from commentsvc.http.messages import Request
from commentsvc.runtime.https_redirect import Redirect


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("path", "query", "target"),
    [
        ("/", "", "/"),
        ("/api/comments", "url=/a?b", "/api/comments?url=/a?b"),
        ("//evil.example/", "", "//evil.example/"),
        ("*", "", "/"),
    ],
)
def test_everybody_is_sent_to_the_public_host(
    method: str, path: str, query: str, target: str
) -> None:
    """Whatever host a client names: the Host field is ignored."""
    redirect = Redirect("https://comments.example:8443/folder/")
    answer = redirect.handle(Request(method, path, query, b"", "", {"host": "evil.example"}.get))
    assert answer.status == 308
    assert answer.headers == (("Location", f"https://comments.example:8443{target}"),)
