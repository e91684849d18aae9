"""spam: one verdict with all its reasons."""

import pytest

from commentsvc.spam import Verdict, judge


@pytest.mark.parametrize(
    ("honeypot", "links", "policy", "most_links", "expected"),
    [
        ("", 0, "none", 3, Verdict("accept")),
        ("", 3, "none", 3, Verdict("accept")),
        ("", 4, "none", 3, Verdict("hold", ("4 links",))),
        ("", 400, "none", 0, Verdict("accept")),
        ("", 0, "all", 3, Verdict("hold", ("every comment is moderated",))),
        ("", 4, "all", 3, Verdict("hold", ("every comment is moderated", "4 links"))),
        ("x", 0, "none", 3, Verdict("reject", ("honeypot filled",))),
        (" ", 4, "all", 3, Verdict("reject", ("honeypot filled",))),
    ],
)
def test_a_submission_is_judged(
    honeypot: str, links: int, policy: str, most_links: int, expected: Verdict
) -> None:
    verdict = judge(honeypot=honeypot, links=links, policy=policy, most_links=most_links)
    assert verdict == expected
