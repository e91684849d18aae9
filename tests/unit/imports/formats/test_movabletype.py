"""Movable Type's text files, with what those of other programs have, too."""

from pathlib import Path

import pytest

from commentsvc.imports.records import ImportFailed
from commentsvc.markup import html_to_markdown
from tests.unit.imports.import_samples import MOVABLETYPE, comments, pages, parsed
from tests.unit.imports.test_detect import MAY_2013, written

HOUR = 3_600_000


@pytest.mark.parametrize("text", [MOVABLETYPE, "\ufeff" + MOVABLETYPE.replace("\n", "\r\n")])
def test_comments_of_movable_type_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "export.txt"
    path.write_bytes(text.encode())
    records = parsed(path, zone="Europe/Berlin")
    assert [(page.url, page.title, page.closed) for page in pages(records)] == [
        ("/2013/05/a_b_hello.html", "A & B: Hello", False),
        ("https://blog.example/second/", "Second one", True),
    ]
    first, second, last = comments(records)
    assert (first.author, first.email) == ("Bob", "bob@blog.example")
    assert (first.site, first.status, first.created) == (
        "https://bob.example/",
        "approved",
        MAY_2013,
    )
    assert first.text == "One\ntwo\n\n-----\nURL: three"
    html = html_to_markdown.read(f"{first.text} &amp;", first.markup).html
    assert html == "<p>One<br>two</p><p>-----<br>URL: three &amp;</p>"
    assert (second.text, second.status, second.created) == ("Hidden", "pending", MAY_2013 + HOUR)
    assert (last.page, last.author, last.text) == (pages(records)[1].key, "Dee", "Last")


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ("TITLE: Hello, World!\nDATE: 05/01/2013 08:00:00 AM", "/2013/05/hello_world.html"),
        ("TITLE: x\nBASENAME: 2013/05/01/080000\nDATE: 05/01/2013 08:00:00", "/2013/05/01/080000"),
        ("TITLE: x\nBASENAME: x\nDATE: nonsense", "/x.html"),
        ("AUTHOR: ann\nTITLE:", ""),
    ],
)
def test_an_entry_without_an_address_has_that_of_movable_type(
    tmp_path: Path, fields: str, url: str
) -> None:
    text = f"{fields}\n-----\nBODY:\nx\n-----\nCOMMENT:\nAUTHOR: a\nb\n-----\n--------\n"
    [page] = pages(parsed(written(tmp_path, "export.txt", text)))
    assert page.url == url


@pytest.mark.parametrize("behind", [0, 200_000], ids=["soon", "late"])
@pytest.mark.parametrize("encoding", ["euc_jp", "cp932", "cp1252", "utf-8", "utf-16"])
def test_a_file_in_another_encoding_is_refused_or_read(
    tmp_path: Path, encoding: str, behind: int
) -> None:
    said = (
        "Grüße, Zoë" if encoding == "cp1252" else "こんにちは、コメントありがとうございます。" * 4
    )
    path = tmp_path / "export.txt"
    text = MOVABLETYPE.replace("One\n", f"{said}\n").replace("BODY:\n", f"BODY:\n{'x' * behind}\n")
    path.write_bytes(text.encode(encoding))
    if encoding in ("euc_jp", "cp932"):
        with pytest.raises(ImportFailed, match="Convert it first, for example: iconv"):
            parsed(path)
    else:
        assert comments(parsed(path))[0].text.startswith(said)
