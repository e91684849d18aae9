"""Forms in three encodings are decoded alike; UTF-8 and the number of fields are checked."""

from contextlib import nullcontext, suppress
from encodings import _cache  # the names that Python was asked for
from encodings.aliases import aliases
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from webencodings.labels import LABELS  # type: ignore[import-untyped]  # it has no types

from commentsvc.http.forms import (
    FIELDS,
    PART_HEAD,
    Form,
    FormError,
    is_multipart,
    parse_multipart,
    parse_urlencoded,
)
from commentsvc.util.text import whole_number

TYPE = "multipart/form-data; boundary=xyz"


def multipart(*parts: str) -> bytes:
    return "".join(f"--xyz\r\n{part}\r\n" for part in parts).encode() + b"--xyz--\r\n"


def part(name: str, value: str) -> str:
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("a=1&b=2", {"a": ["1"], "b": ["2"]}),
        ("a=1&a=2", {"a": ["1", "2"]}),
        ("a", {"a": [""]}),
        ("a=", {"a": [""]}),
        ("=a", {"": ["a"]}),
        ("&&a=1&", {"a": ["1"]}),
        ("url=/2017/07/post/", {"url": ["/2017/07/post/"]}),
        ("url=/?p=4", {"url": ["/?p=4"]}),
        ("a=b+c%20d%2Be", {"a": ["b c d+e"]}),
        ("a=caf%C3%A9", {"a": ["café"]}),
        ("a=caf\xc3\xa9", {"a": ["café"]}),
        ("a=100%&b=%zz", {"a": ["100%"], "b": ["%zz"]}),
        ("%61=1", {"a": ["1"]}),
        ("a=%00", {"a": ["\x00"]}),
    ],
)
def test_a_query_becomes_named_texts(text: str, expected: Form) -> None:
    assert parse_urlencoded(text) == expected


@pytest.mark.parametrize(("text", "field"), [("a=%ff", "a"), ("b=\xe9", "b"), ("%ff=1", "")])
def test_what_is_not_utf8_is_refused_by_name(text: str, field: str) -> None:
    with pytest.raises(FormError) as caught:
        parse_urlencoded(text)
    assert caught.value.field == field


def test_too_many_fields_are_refused() -> None:
    assert len(parse_urlencoded("&".join(["a=1"] * FIELDS))["a"]) == FIELDS
    with pytest.raises(FormError):
        parse_urlencoded("&".join(["a=1"] * (FIELDS + 1)))
    with pytest.raises(FormError):
        parse_multipart(TYPE, multipart(*[part("a", "1")] * (FIELDS + 1)))
    assert parse_multipart(TYPE, multipart(*[part("a", "1")] * (FIELDS - 1)))[0]


@given(st.lists(st.tuples(st.text(), st.text()), max_size=8))
def test_what_a_form_encodes_is_read_back(pairs: list[tuple[str, str]]) -> None:
    expected: Form = {}
    for name, value in pairs:
        expected.setdefault(name, []).append(value)
    if all(name for name, _ in pairs) and not any("\ud800" <= c <= "\udfff" for c in str(pairs)):
        assert parse_urlencoded(urlencode(pairs)) == expected


@given(st.text(st.characters(max_codepoint=255)))
def test_no_query_fails_in_another_way(text: str) -> None:
    with suppress(FormError):
        parse_urlencoded(text)


@pytest.mark.parametrize(
    "content_type",
    [
        TYPE,
        'multipart/form-data; boundary="xyz"',
        "Multipart/Form-Data;charset=utf-8; boundary=xyz",
    ],
)
def test_a_multipart_body_becomes_named_texts(content_type: str) -> None:
    body = multipart(part("a", "1\r\n2"), part("b", "é"), part("a", ""), part("é", "a--xyz"))
    assert is_multipart(content_type)
    assert parse_multipart(content_type, body)[0] == {
        "a": ["1\r\n2", ""],
        "b": ["é"],
        "é": ["a--xyz"],
    }


def test_a_part_may_have_more_headers_and_a_name_without_quotes() -> None:
    body = multipart("Content-Type: text/plain\r\nContent-Disposition: form-data; name=a\r\n\r\n1")
    assert parse_multipart(TYPE, body) == ({"a": ["1"]}, b"")


def test_a_name_that_speaks_of_files_is_only_a_name() -> None:
    assert parse_multipart(TYPE, multipart(part("filename=x", "1")))[0] == {"filename=x": ["1"]}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--xyz\r\n",
        b"--xyz",
        b"--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n1",
        b"--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--xyz",
        multipart("\r\n1"),
        multipart("Content-Disposition: form-data; name=a"),
        multipart('Content-Disposition: form-data; name="a"; filename="b"\r\n\r\n1'),
        multipart("Content-Disposition: form-data; filename=b; name=a\r\n\r\n1"),
        multipart("Content-Disposition: attachment; name=a\r\n\r\n1"),
        multipart(part("b", "1")).replace(b"b", b"\xff"),
        b"--xyzz\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--xyzz--",
    ],
)
def test_a_broken_multipart_body_is_refused(body: bytes) -> None:
    with pytest.raises(FormError):
        parse_multipart(TYPE, body)


def test_one_field_may_be_a_file() -> None:
    def file(content: str, name: str = "image") -> str:
        return part(f'{name}"; filename="x.png', f"{content}")

    text = part("a", "1")
    for body, content in (
        (multipart(text, file("\0GIF")), b"\0GIF"),
        (multipart(file(""), text), b""),
        (multipart(text), b""),
    ):
        assert parse_multipart(TYPE, body, "image") == ({"a": ["1"]}, content)
    for wrong in (multipart(file("x"), file("y")), multipart(file("x", "other"))):
        with pytest.raises(FormError):
            parse_multipart(TYPE, wrong, "image")


@pytest.mark.parametrize(
    "content_type",
    ["", "multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=x"],
)
def test_a_multipart_body_without_a_boundary_is_refused(content_type: str) -> None:
    assert not is_multipart(content_type)
    with pytest.raises(FormError):
        parse_multipart(content_type, b"")


def test_the_head_of_a_part_is_bounded() -> None:
    for extra, refused in ((PART_HEAD // 2, False), (PART_HEAD, True)):
        body = multipart(f"X-Other: {'x' * extra}\r\n{part('a', '1')}")
        with pytest.raises(FormError) if refused else nullcontext():
            assert parse_multipart(TYPE, body)[0] == {"a": ["1"]}


@given(st.binary().map(lambda data: data.replace(b"\n", b"\r\n--xyz\r\n")))
def test_no_multipart_body_fails_in_another_way(body: bytes) -> None:
    with suppress(FormError):
        parse_multipart(TYPE, b"--xyz\r\n" + body + b"\r\n--xyz--")


@pytest.mark.parametrize("text", ["", "x", "-1", "+1", "1.0", " 1", "1\n", "²", "٣", "9" * 19])
def test_what_no_column_can_hold_is_no_number(text: str) -> None:
    assert whole_number(text) is None
    assert (whole_number("0"), whole_number("9" * 18)) == (0, 10**18 - 1)


def test_a_form_on_a_page_in_latin_1_is_read() -> None:
    """Browsers send windows-1252 for it, and never a charset."""
    fields = {"author": "Zoë", "message": "“Grüße” – 5 €"}
    sent = urlencode(fields, encoding="cp1252")
    assert parse_urlencoded(sent, is_body=True) == {name: [text] for name, text in fields.items()}
    body = multipart(*(part(name, text) for name, text in fields.items()))
    body = body.decode().encode("cp1252")
    assert parse_multipart(TYPE, body) == ({name: [text] for name, text in fields.items()}, b"")
    with pytest.raises(FormError):
        parse_urlencoded(sent)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("windows-1251", "Привет"), ("Shift_JIS", "こんにちは"), ("EUC-JP", "こんにちは"),
        ("gbk", "你好"), ("big5", "你好"), ("windows-1255", "שלום"), ("iso-8859-2", "zażółć"),
        ("koi8-r", "Привет"), ("euc-kr", "안녕"), ("UTF-8", "ё"),
    ],
)  # fmt: skip
def test_a_form_on_a_page_in_another_encoding_names_it(encoding: str, text: str) -> None:
    fields = {"message": text, "_charset_": encoding}
    wanted = {"message": [text]}
    assert parse_urlencoded(urlencode(fields, encoding=encoding), is_body=True) == wanted
    body = multipart(*(part(name, value) for name, value in fields.items()))
    assert parse_multipart(TYPE, body.decode().encode(encoding)) == (wanted, b"")


@pytest.mark.parametrize("encoding", ["", "none", "idna", "punycode", "rot13", "base64", "hex"])
def test_an_encoding_that_is_none_is_that_of_latin_1(encoding: str) -> None:
    sent = urlencode({"_charset_": encoding, "message": "Zoë"}, encoding="cp1252")
    assert parse_urlencoded(sent, is_body=True)["message"] == ["Zoë"]


# All names of encodings that Python knows, and some that it does not.
NAMES = sorted(
    {*aliases, *aliases.values(), *LABELS, "undefined", "idna", "punycode", "unicode_escape"}
    | {"raw_unicode_escape", "utf_8_sig", "mbcs", "no-such-1", "no-such-2", "..", "x" * 40}
)
BYTES = bytes(range(128, 256)) + b"+2AA-\\ud800\xd8\x00\x00\xd8\xff"


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_an_encoding_fails_or_is_kept(name: str) -> None:
    """Regression: some were an error 500, some gave half characters, and Python keeps each."""
    _cache.pop(name, None)
    sent = f"_charset_={name}&message={quote(BYTES)}"
    body = multipart(part("_charset_", name), part("message", "-")).replace(b"-\r\n--xyz--", BYTES)
    body += b"\r\n--xyz--"
    for form in (parse_urlencoded(sent, is_body=True), parse_multipart(TYPE, body)[0]):
        assert form["message"][0].encode()
    assert name in LABELS or name not in _cache
