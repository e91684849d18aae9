"""GitHub issues as utterances and Gitalk make them, from both interfaces of GitHub."""

import json
from pathlib import Path

import pytest

from tests.unit.imports.import_samples import (
    GITHUB,
    GITHUB_COMMENTS,
    GITHUB_ISSUES,
    comments,
    pages,
    parsed,
)
from tests.unit.imports.test_detect import MAY_2013, brief, written

KEY = "//github.com/ann/blog/issues/7"
LISTED = json.loads(GITHUB)["data"]["repository"]["issue"]
LISTED["comments"] = LISTED["comments"]["nodes"]
REST = [
    json.dumps(GITHUB_ISSUES) + json.dumps(GITHUB_COMMENTS),
    json.dumps(GITHUB_COMMENTS, indent=2) + "\n" + json.dumps(GITHUB_ISSUES, indent=2),
    json.dumps(GITHUB_ISSUES + GITHUB_COMMENTS),
    json.dumps([GITHUB_ISSUES, GITHUB_COMMENTS]),
]


@pytest.mark.parametrize("text", [GITHUB, GITHUB * 2, json.dumps([LISTED]), *REST])
def test_issues_are_read_from_both_interfaces(tmp_path: Path, text: str) -> None:
    records = parsed(written(tmp_path, "issues.json", text))
    assert {page.url for page in pages(records)} == {"https://blog.example/posts/a/"}
    assert {page.closed for page in pages(records)} == {text not in REST}
    first, second, *others = comments(records)
    assert {each.page for each in others} <= {KEY, "//github.com/ann/blog/issues/8"}
    assert (first.page, second.page) == (KEY, KEY)
    assert (first.identity, second.id) == ("101 2013-05-01T10:00:00Z", "102")
    assert (first.author, first.account, second.author) == ("ann", "ann", "")
    assert first.site == "https://github.com/ann"
    assert first.text == "> said\n\nOne"
    assert (first.created, first.edited) == (MAY_2013, MAY_2013 + 9_000)
    assert (second.created, second.edited) == (MAY_2013 + 1_000, None)
    assert (first.anchor, second.anchor) == ("issuecomment-101", "issuecomment-102")
    assert (first.votes, first.is_admin, second.is_admin) == (2, True, False)
    assert second.status == ("approved" if text in REST else "spam")


def test_issues_and_comments_may_be_two_files(tmp_path: Path) -> None:
    written(tmp_path, "1.json", json.dumps(GITHUB_COMMENTS))
    written(tmp_path, "2.json", json.dumps(GITHUB_ISSUES))
    records = parsed(tmp_path)
    assert {page.key for page in pages(records)} == {KEY}
    assert len(comments(records)) == 3
    assert brief(comments(records)[1]) == (KEY, "102", "", "approved", "", "Two")


def test_comments_that_github_has_more_are_told(tmp_path: Path) -> None:
    faults: list[str] = []
    text = GITHUB.replace('"totalCount": 2', '"totalCount": 150')
    parsed(written(tmp_path, "issues.json", text), faults=faults)
    assert faults == ["issue 7: GitHub has more comments than the 2 in the file"]
    faults.clear()
    listed = json.dumps([GITHUB_ISSUES, GITHUB_COMMENTS[:1]])
    parsed(written(tmp_path, "issues.json", listed), faults=faults)
    parsed(written(tmp_path, "issues.json", json.dumps(GITHUB_ISSUES)), faults=faults)
    assert faults == [
        "github.com/ann/blog/issues/7: GitHub has more comments than the 1 in the file"
    ]


@pytest.mark.parametrize(
    ("title", "body", "labels", "url"),
    [
        ("posts/a/", "# t\n\n[https://b.example/a/](https://b.example/a/)", [], "https://b.example/a/"),
        ("posts/a/", "https://b.example/a/", [], "https://b.example/a/"),
        ("posts/a/", "", [], "/posts/a/"),
        ("index", "", [], "/"),
        ("https://b.example/a/", "", [], "https://b.example/a/"),
        ("Hello", None, [], "/Hello"),
        ("Hello you | Blog", "https://b.example/a/\n\nSee https://c.example/", ["Gitalk"],
         "https://b.example/a/"),
        ("Hello you | Blog", "", ["Gitalk", "/2013/a/"], "/2013/a/"),
        ("The feed is broken", "Since https://b.example/a/ is there, it fails.", ["bug"], ""),
    ],
)  # fmt: skip
def test_the_page_of_an_issue(
    tmp_path: Path, title: str, body: str, labels: list[str], url: str
) -> None:
    names = [{"name": name} for name in labels]
    for form in (names, {"nodes": names}):
        issue = {"number": 1, "title": title, "body": body, "labels": form, "comments_url": ""}
        [page] = pages(parsed(written(tmp_path, "issues.json", json.dumps([issue])), "github"))
        assert page.url == url


def test_issues_with_their_comments_in_them_are_read_as_a_backup_has_them(tmp_path: Path) -> None:
    """As `python-github-backup` writes them: a file for each issue."""
    mine = [each for each in GITHUB_COMMENTS if each["issue_url"] == GITHUB_ISSUES[0]["url"]]
    backed_up = {**GITHUB_ISSUES[0], "comment_data": mine}
    records = parsed(written(tmp_path, "7.json", json.dumps(backed_up, indent=4)))
    together = parsed(written(tmp_path, "issues.json", json.dumps([GITHUB_ISSUES[:1], mine])))
    assert comments(records) == comments(together)
    assert len(comments(records)) == 2


def test_the_archive_of_a_repository_names_people_and_issues_by_address(tmp_path: Path) -> None:
    issue = "https://github.com/ann/blog/issues/7"
    others: dict[str, object] = {
        "repository": "https://github.com/ann/blog",
        "labels": [],
        "milestone": None,
    }
    user = "https://github.com/bob"
    said = {
        "user": user,
        "body": "One",
        "formatter": "markdown",
        "created_at": "2013-05-01T10:00:00Z",
    }
    page = {"type": "issue", "url": issue, "title": "posts/a/", "body": "", "user": user, **others}
    comment = {"type": "issue_comment", "url": f"{issue}#issuecomment-101", "issue": issue, **said}
    on_request = {
        "type": "issue_comment",
        "url": "https://github.com/ann/blog/pull/8#issuecomment-102",
        "pull_request": "https://github.com/ann/blog/pull/8",
        **said,
    }
    written(tmp_path, "issue_comments_000001.json", json.dumps([comment, on_request]))
    written(tmp_path, "issues_000001.json", json.dumps([page], indent=2))
    records = parsed(tmp_path)
    assert [(each.key, each.url) for each in pages(records)] == [(KEY, "/posts/a/")]
    [found] = comments(records)
    assert brief(found) == (KEY, "101", "", "approved", "bob", "One")
    assert (found.account, found.anchor, found.created) == ("bob", "issuecomment-101", MAY_2013)
