"""Values from JSON and forms are valid, or all their errors are named at once."""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.comments import submission
from commentsvc.comments.page_urls import Sites
from commentsvc.comments.submission import (
    MalformedError,
    Rules,
    Submission,
    SubmissionError,
    avatar,
    from_form,
    from_json,
    message_from_json,
    message_from_text,
)
from commentsvc.markup import html_to_markdown, markdown
from commentsvc.settings.schema import CommentsSettings, Site
from commentsvc.util.i18n import translate
from commentsvc.util.origin import deliverable
from commentsvc.util.text import excerpt, fold, initial, one_line
from tests.unit.processor_time import assert_quick

BOUNDS = CommentsSettings(author_length=20, message_length=100)
SITES = Sites([Site(origins=("https://blog.example",))])
RULES = Rules(BOUNDS, SITES.locate)
LEAST = {"url": "/p/", "author": "Ann", "message": "Hi"}


def read(**fields: object) -> Submission:
    return from_json(json.dumps({**LEAST, **fields}).encode(), RULES)


def faults(**fields: object) -> dict[str, str]:
    with pytest.raises(SubmissionError) as caught:
        read(**fields)
    return {name: translate(text) for name, text in caught.value.problems.items()}


def test_the_least_that_is_needed_is_enough() -> None:
    assert read() == Submission(("blog", "/p/"), "Ann", "Hi", "", "", "", None, "", "", "")


def test_everything_that_may_be_sent_is_read() -> None:
    assert read(
        email=" Ann@Blog.Example ",
        site="https://ann.example/",
        parent=7,
        title="A post",
        key="0123456789abcdef",
        subject="buy",
    ) == Submission(
        page=("blog", "/p/"),
        author="Ann",
        message="Hi",
        email="Ann@Blog.Example",
        avatar="8667278f970b1ae1f77d3ad166620cc8",
        site="https://ann.example/",
        parent=7,
        title="A post",
        key="0123456789abcdef",
        honeypot="buy",
    )


def test_optional_fields_may_be_null() -> None:
    assert read(email=None, site=None, parent=None, title=None, key=None, subject=None) == read()


def test_the_avatar_is_the_digest_of_the_tidy_address() -> None:
    assert avatar(" MyEmailAddress@example.com ") == "0bc83cb571cd1c50ba6f3e8a78ef1346"
    assert avatar("  ") == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", ""),
        ("url", "  "),
        ("url", 1),
        ("url", None),
        ("url", "/a\x00b"),
        ("url", "https://evil.example/p/"),
        ("author", ""),
        ("author", " \t\n"),
        ("author", "\u200b\u202e\u2800"),
        ("author", "a" * 21),
        ("author", "a" + " " * 20),
        ("author", ["Ann"]),
        ("message", ""),
        ("message", " \r\n\x00"),
        ("message", "a" * 101),
        ("message", "a" + "\n" * 100),
        ("message", {"a": 1}),
        ("email", "ann"),
        ("email", "ann@"),
        ("email", "@blog.example"),
        ("email", "ann@localhost"),
        ("email", "ann@blog.example\nBcc: bob@blog.example"),
        ("email", "Ann <ann@blog.example>"),
        ("email", "a@b.example, c@d.example"),
        ("email", "a@b@c.example"),
        ("email", ".a@b.example"),
        ("email", "a..b@c.example"),
        ("email", "a.@b.example"),
        ("email", "a@-b.example"),
        ("email", "a@b-.example"),
        ("email", f"a@{'b' * 64}.example"),
        ("email", f"a@{'ü' * 60}.example"),
        ("email", f"{'a' * 65}@b.example"),
        ("email", "a@b!.example"),
        ("email", "a@ⅷ℀.example"),
        ("email", "a\u202e@b.example"),
        ("email", "=?utf-8?q?=0D=0ABcc=3A_x?=@b.example"),
        ("email", "a" * 255 + "@b.example"),
        ("email", True),
        ("site", "blog.example"),
        ("site", "javascript:alert(1)"),
        ("site", "JAVASCRIPT://x/%0aalert(1)"),
        ("site", "ftp://ann.example/"),
        ("site", "//ann.example/"),
        ("site", "https://"),
        ("site", "https:///x"),
        ("site", "http://javascript:alert(1)"),
        ("site", "https://ann.example:x/"),
        ("site", "https://good.example@evil.example/"),
        ("site", "https://ann.example/ x"),
        ("site", 'https://ann.example/"onclick="x'),
        ("site", "https://ann.example/\u202e"),
        ("site", "https://ann.example/" + "a" * 300),
        ("site", 1),
        ("parent", 0),
        ("parent", -1),
        ("parent", 2**63),
        ("parent", "7"),
        ("parent", 7.5),
        ("parent", True),
        ("title", 1),
        ("key", "short"),
        ("key", "a" * 65),
        ("key", "with space"),
        ("key", "slash/slash"),
        ("key", 12345678),
        ("subject", 1),
    ],
)
def test_a_faulty_field_is_named(field: str, value: object) -> None:
    problems = faults(**{field: value})
    assert list(problems) == [field]
    assert problems[field].endswith((".", "…"))


def test_all_faults_are_named_at_once() -> None:
    problems = faults(author=" ", message="a" * 101, email=7, parent="x", key="?", mesage="x")
    assert set(problems) == {"author", "message", "email", "parent", "key", "mesage"}
    assert "message" in problems["mesage"]
    assert "101" in problems["message"]


def test_missing_fields_are_named_as_missing() -> None:
    with pytest.raises(SubmissionError) as caught:
        from_json(b"{}", RULES)
    assert set(caught.value.problems) == {"url", "author", "message"}


def test_unknown_fields_are_named_but_bounded() -> None:
    assert "Known are url, author" in faults(zzz=1)["zzz"]
    problems = faults(**{f"{n}{'x' * 99}": 1 for n in range(99)})
    assert len(problems) == 10
    assert max(map(len, problems)) == 40


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b"url=/p/&author=Ann&message=Hi",
        b'{"author": "\xff"}',
        b'{"author": "\\ud800"}',
        b'{"author": "\xed\xa0\x80"}',
        b'{"a": ' + b"[" * 100_000,
        b'{"parent": 1e400}',
        b"\xef\xbb\xbf{}",
        b'{"url": "/p/"} x',
    ],
)
def test_what_is_no_json_object_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedError) as caught:
        from_json(body, RULES)
    assert caught.value.message


@pytest.mark.parametrize(
    "site", ["http://ann.example:8080", "https://[::1]:8443/x?y#z", "https://büro.example/é"]
)
def test_a_web_site_may_have_any_host(site: str) -> None:
    assert read(site=site).site == site


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann", "Ann"),
        ("  Ann  B ", "Ann B"),
        ("Ann\r\nB\tC", "Ann B C"),
        ("A\x00n\x07n", "Ann"),
        ("evil\u202egpj.exe", "evilgpj.exe"),
        ("\u2066Ann\u2069", "Ann"),
        ("A\u200bn\ufeffn", "Ann"),
        ("José 日本 🙂", "José 日本 🙂"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("<b>Ann</b>", "<b>Ann</b>"),
        ("a\u2028b\x85c", "a b c"),
    ],
)
def test_a_name_is_one_visible_line(text: str, expected: str) -> None:
    assert one_line(text) == expected
    assert read(author=text).author == expected


@given(st.text())
def test_a_visible_line_stays_as_it_is(text: str) -> None:
    assert one_line(one_line(text)) == one_line(text)


def test_a_message_keeps_its_lines_and_loses_its_controls() -> None:
    assert read(message="a\r\nb\rc\n\td\x00\x0b\x7f ").message == "a\nb\nc\n\td"


# Each way in which the text of a comment comes in, as functions of the text.
SUBMISSIONS = {
    "json": lambda text: read(message=text).message,
    "form": lambda text: from_form({**LEAST, "message": text}, RULES).message,
    "edit": lambda text: message_from_json(json.dumps({"message": text}).encode(), BOUNDS),
    "moderator": lambda text: message_from_text(text, BOUNDS),
    "import": lambda text: html_to_markdown.read(text, "markdown").source,
}
every_way = pytest.mark.parametrize("way", SUBMISSIONS.values(), ids=SUBMISSIONS)


@every_way
@pytest.mark.parametrize("first", ["  - a\n  - b", "    code", "\tcode", "   a", "\u3000a"])
@pytest.mark.parametrize("blank", ["", "\n", " \n\t\n \r\n", "\u3000\n"])
def test_of_spaces_a_message_loses_blank_lines_alone(
    way: Callable[[str], str], first: str, blank: str
) -> None:
    assert way(f"{blank}{first}\n\n  b{blank} ") == f"{first}\n\n  b"


ZALGO = "\u0301\u0316\u0336\u0489\u0e47\u0e49" * 3


@every_way
def test_letters_have_no_more_marks_than_languages_need(way: Callable[[str], str]) -> None:
    assert way(f"Z{ZALGO}a{ZALGO} b") == f"Z{ZALGO[:6]}a{ZALGO[:6]} b"
    assert read(author=f"Z{ZALGO}b").author == f"Z{ZALGO[:6]}b"
    for word in ("e\u0302\u0323", "בְּרֵאשִׁ֖ית", "ที่นี่", "क्ष्म्य", "མཧཱ་བྷྲྀཾ", "ਸ੍ਰੀ", "မြွှုံ့", "❤️‍🔥", "ơ̴̌̈́"):
        assert way(f"a {word}") == f"a {word}"
        assert one_line(f"a {word}") == f"a {word}"


@pytest.mark.parametrize("form", ["&#x{:x};", "&#{};", "&#X0{:X};"])
def test_marks_written_as_numbers_are_bounded_like_typed_ones(form: str) -> None:
    text = "Z" + "".join(form.format(ord(mark)) for mark in ZALGO)
    for html in (
        markdown.render(text),
        markdown.clean(f"<p>{text}</p>"),
        html_to_markdown.read(f"<div>{text}</div>", "html").html,
    ):
        assert f"Z{ZALGO[:6]}<" in html


@every_way
@pytest.mark.parametrize(
    "between", ["\u200d", "\u200c", "\u0f72", "\U0001d165", "\u302e", "\ufe0f"]
)
def test_nothing_between_marks_makes_room_for_more(way: Callable[[str], str], between: str) -> None:
    kept = way(f"Z{f'{ZALGO}{between}' * 3}")
    assert len([each for each in kept if each in ZALGO]) == 6


@pytest.mark.parametrize("marks", ["\u0f72\u0f71", "\U0001d16d\U0001d165", "\u302e\u0f71", ZALGO])
def test_what_combines_is_folded_in_no_time(marks: str) -> None:
    """Python sorts it in quadratic time."""
    for text in ("a" + marks * 4_000, "".join(each * 8_000 for each in marks)):
        assert_quick(partial(fold, text), 100)
        assert len(one_line(text)) <= 31


# What shows nothing on a page, in Markdown.
BLANK = [
    "\u200b", "\U0001d173", "\u2800", "\u3164", "\u200d", "\ufe0f", "\U000e0100", "\u115f\n\u2063",
    "\u3000", "&nbsp;", "&#8203;", "&#x200D;", ">", "> >\n>", "#", "###### #", "-", "* *", "---",
    "[x]: /a", "[x]: /a 'b'\n\n[y]:\n/b", "[](https://a.example)", "![](https://a.example/b)",
    "[^1]: note", "```\n```", "\\\n&#32;", "- >\n  #",
]  # fmt: skip
SEEN = [
    "!", "1. a", "- [ ]", "> a", "[x]: /a\n\n[x]", "&amp;", "&#x3b1;", "🙂", "👍🏽", "+1", "<b>",
    f"![](image:{'a' * 32}-640x480)", "`#`", "# a", "    a", "[a](/b)", "٪", "…", "\u0301", "日本",
    "|a|\n|-|", "$x$",
]  # fmt: skip


@pytest.mark.parametrize("name", ["json", "form", "edit", "moderator"])
@pytest.mark.parametrize("text", BLANK)
def test_a_message_that_shows_nothing_is_as_good_as_none(name: str, text: str) -> None:
    with pytest.raises(SubmissionError) as failure:
        SUBMISSIONS[name](text)
    assert translate(failure.value.problems["message"]) == "Please write a comment."


@every_way
@pytest.mark.parametrize("text", SEEN)
def test_a_message_that_shows_anything_is_one(way: Callable[[str], str], text: str) -> None:
    assert way(text) == text


@pytest.mark.parametrize("name", ["\u200c", "\u200d\ufe0f", "\U000e0101", "\u3164\u200d"])
def test_a_name_that_shows_nothing_is_as_good_as_none(name: str) -> None:
    assert faults(author=name) == {"author": "Please enter a name."}


def test_a_preview_of_what_is_being_begun_is_no_fault() -> None:
    body = json.dumps({"message": "#"}).encode()
    assert message_from_json(body, BOUNDS, may_be_blank=True) == "#"


def test_the_number_of_fields_is_bounded() -> None:
    """Names with one prefix are one error in the answer, but each had to be compared with ours."""
    names = [f"{'x' * 40}{number}" for number in range(257)]
    with pytest.raises(MalformedError) as caught:
        from_json(json.dumps(dict.fromkeys(names, 1)).encode(), RULES)
    assert "more than 256 fields" in caught.value.message


def test_a_title_is_cut_rather_than_refused() -> None:
    assert len(read(title="a " * 400).title) == 300


def test_a_form_gives_the_same_submission() -> None:
    form = {**LEAST, "email": "", "site": "", "parent": "7", "key": "", "subject": ""}
    assert from_form(form, RULES) == read(parent=7)
    assert from_form({**LEAST, "parent": ""}, RULES) == read()


@pytest.mark.parametrize("parent", ["x", "-1", "0", "1.5", "٣", "9" * 30])
def test_a_form_names_a_parent_that_is_no_id(parent: str) -> None:
    with pytest.raises(SubmissionError) as caught:
        from_form({**LEAST, "parent": parent, "nme": "x"}, RULES)
    assert set(caught.value.problems) == {"parent", "nme"}


def test_a_preview_needs_a_message_alone() -> None:
    assert message_from_json(b'{"message": "\\n*a* "}', BOUNDS) == "*a*"
    for body in (b"{}", b'{"message": 1}', b'{"message": "a", "x": 1}'):
        with pytest.raises(SubmissionError):
            message_from_json(body, BOUNDS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(["url", "author", "message", "email", "site", "parent", "key", "x"])


@given(st.dictionaries(NAMES, JSON))
def test_no_json_fails_in_another_way(fields: dict[str, object]) -> None:
    with suppress(SubmissionError):
        submission = from_json(json.dumps({**LEAST, **fields}).encode(), RULES)
        assert 0 < len(submission.author) <= 20
        assert 0 < len(submission.message) <= 100


@pytest.mark.parametrize(
    ("typed", "site"),
    [
        ("rosa.example", "https://rosa.example"),
        (" rosa.example/about?a=b ", "https://rosa.example/about?a=b"),
        ("rosa.example:8080", "https://rosa.example:8080"),
        ("http://rosa.example", "http://rosa.example"),
    ],
)
def test_a_website_in_a_form_needs_no_scheme(typed: str, site: str) -> None:
    values = {"url": "/p/", "author": "Rosa", "message": "Hi", "site": typed}
    assert from_form(values, RULES).site == site


@pytest.mark.parametrize("typed", ["rosa", "javascript:alert(1)", "mailto:a@b.example", "a b.c"])
def test_what_is_no_website_in_a_form_is_still_refused(typed: str) -> None:
    values = {"url": "/p/", "author": "Rosa", "message": "Hi", "site": typed}
    with pytest.raises(SubmissionError) as caught:
        from_form(values, RULES)
    assert list(caught.value.problems) == ["site"]


def _is_admitted(text: str) -> bool:
    """Return whether the JSON Schema allows the length of `text` for an address."""
    return 0 < len(text) <= submission.EMAIL_LENGTH


@given(st.from_regex(submission.PLAIN_EMAIL, fullmatch=True).filter(_is_admitted))
def test_an_address_of_the_documented_pattern_passes_every_check(text: str) -> None:
    """`is_email` asks no further for these."""
    assert submission._is_plain(text, submission._EMAIL)
    assert deliverable(text)


@pytest.mark.parametrize("scheme", ["Https", "HTTPS", "hTTps"])
def test_the_scheme_of_a_web_site_is_stored_in_lower_case(scheme: str) -> None:
    """Clients make a link only of what begins with http."""
    assert read(site=f"{scheme}://Ann.example/A").site == "https://Ann.example/A"
    form = {**LEAST, "site": f"{scheme}://Ann.example/A"}
    assert from_form(form, RULES).site == "https://Ann.example/A"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("🇩🇪 Max", "🇩🇪"),
        ("👨‍👩‍👧 Family", "👨‍👩‍👧"),
        ("👍🏽 Ann", "👍🏽"),
        ("❤️‍🔥", "❤️‍🔥"),
        ("1️⃣", "1️⃣"),
        ("E\u0301ric", "E\u0301"),
        ("ß Test", "ß"),
        ("Ann", "A"),
        ("", ""),
    ],
)
def test_an_initial_is_a_whole_character(name: str, shown: str) -> None:
    assert initial(name) == shown


@pytest.mark.parametrize("region", ["gbeng", "gbsct", "gbwls", "ustx"])
def test_the_flag_of_a_region_stays_in_a_name(region: str) -> None:
    """Without its tags it would be a black flag. Other tags are hidden texts."""
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in region)
    flag = f"\U0001f3f4{tags}\U000e007f"
    assert read(author=f"{flag} Ann").author == f"{flag} Ann"
    assert initial(f"{flag} Ann") == flag
    assert read(author=f"Ann{tags}").author == "Ann"
    assert read(author=f"\U0001f3f4{tags} Ann").author == "\U0001f3f4 Ann"


def test_an_excerpt_has_no_footnotes() -> None:
    html = markdown.render("Wood[^1] is[^b] good.\n\n[^1]: Oak.\n[^b]: Was.")
    assert excerpt(html, 100) == "Wood is good."
