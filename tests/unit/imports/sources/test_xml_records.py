"""XML exports: common errors are repaired or reported with their line; entity bombs are refused."""

from pathlib import Path

import pytest

from commentsvc.imports.records import ImportFailed, InvalidInput
from commentsvc.imports.sources import xml_records
from commentsvc.imports.sources.files import SourceFile
from commentsvc.imports.sources.xml_records import XmlRecord
from tests.unit.imports.import_samples import DISQUS, WORDPRESS, comments, pages, parsed


def read(tmp_path: Path, data: bytes | str, faults: list[str] | None = None) -> list[str]:
    """Return the texts of the comments in a WordPress export."""
    path = tmp_path / "wordpress.xml"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return [each.text for each in comments(parsed(path, "wordpress", faults=faults))]


def item(*texts: str, link: str = "https://blog.example/a") -> str:
    inner = "".join(
        f"\n<wp:comment><wp:comment_id>{number}</wp:comment_id>"
        f"<wp:comment_content>{text}</wp:comment_content></wp:comment>"
        for number, text in enumerate(texts)
    )
    return f"<item><link>{link}</link>{inner}\n</item>\n"


def wxr(*items: str, head: str = "") -> str:
    return f"{head}<rss><channel>\n{''.join(items)}</channel></rss>"


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("a\x0bb", "ab"),
        ("a&#x0;b&#11;c&#10;", "abc\n"),
        ("caf&eacute;&nbsp;&hellip;", "café\xa0…"),
        ("<![CDATA[<b>x</b>]]>", "<b>x</b>"),
        ("ok <!-- no --> ok", "ok  ok"),
        (
            'a <p>b <a href="/?x&amp;y">c</a><br/></p> d',
            'a <p>b <a href="/?x&amp;y">c</a><br></p> d',
        ),
    ],
)
def test_what_programs_get_wrong_is_mended(tmp_path: Path, text: str, read_as: str) -> None:
    assert read(tmp_path, wxr(item(text))) == [read_as]


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("", "cp1252"),
        ('<?xml version="1.0" encoding="utf-8"?>', "cp1252"),
        ('<?xml version="1.0" encoding="ISO-8859-15"?>', "iso-8859-15"),
        ('<?xml version="1.0"?>', "utf-16"),
        ("\ufeff", "utf-8"),
        ('\n \n<?xml version="1.0" encoding="utf-8"?>', "utf-8"),
        ("junk\n", "utf-8"),
    ],
)
def test_any_encoding_is_read(tmp_path: Path, head: str, encoding: str) -> None:
    assert read(tmp_path, wxr(item("Grüße"), head=head).encode(encoding)) == ["Grüße"]


@pytest.mark.parametrize("name", ["x-none", "base64", "rot13", "idna", "utf-32"])
def test_an_encoding_that_cannot_be_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ImportFailed, match=f"encoding {name} that"):
        read(tmp_path, wxr(item("a"), head=f'<?xml version="1.0" encoding="{name}"?>'))


@pytest.mark.parametrize(
    "head",
    [
        '<!DOCTYPE a [<!ENTITY a "b"><!ENTITY c "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE a [<!ENTITY % a "b">]>',
    ],
)
def test_entities_of_the_file_are_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(ImportFailed, match="line 1: the file defines the entity a"):
        read(tmp_path, wxr(item("&a;"), head=head))


def test_a_document_type_elsewhere_is_not_fetched(tmp_path: Path) -> None:
    head = '<!DOCTYPE rss SYSTEM "file:///nowhere/rss.dtd">'
    assert read(tmp_path, wxr(item("a"), head=head)) == ["a"]


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="nested"):
        read(tmp_path, '<rss xmlns:wp="http://wordpress.org/export/1.2/">' + "<a>" * 100_000)


def test_elements_of_any_name_and_depth_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commentsvc.imports.sources.xml_records.SHAPE_LIMIT", 100)
    names = [f"x{number}" for number in range(400)]
    many = "".join(f"<{name}>a</{name}>" for name in names)
    deep = [name * 20 for name in names[:150]]
    nested = "".join(f"<{name}>" for name in deep) + "".join(f"</{name}>" for name in deep[::-1])
    assert read(tmp_path, wxr(f"<item>{many}{nested}</item>", item("one", "two"))) == ["one", "two"]


def test_broken_xml_is_named_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"line 4: the XML is broken here \(mismatched tag\)"):
        read(tmp_path, wxr(item("one", "two <b>")))


def test_the_rest_is_read_from_the_next_record_on(tmp_path: Path) -> None:
    faults: list[str] = []
    broken = wxr(item("one", "two <b>", "three"), item("four < five"), item("six"))
    assert read(tmp_path, broken, faults) == ["one", "three", "six"]
    assert [fault.partition(":")[0] for fault in faults] == ["line 4", "line 8"]
    found = pages(parsed(tmp_path / "wordpress.xml", "wordpress", faults=[]))
    assert [page.position for page in found] == ["line 2", "line 7", "line 10"]


def test_a_file_that_ends_too_early_gives_what_is_whole(tmp_path: Path) -> None:
    faults: list[str] = []
    whole = WORDPRESS.partition("<wp:comment_id>7")[0]
    assert len(read(tmp_path, whole, faults)) == 2
    end = whole.count("\n") + 1
    assert faults == [f"line {end}: the XML is broken here (no element found)"]


def test_two_documents_in_one_file_are_read(tmp_path: Path) -> None:
    faults: list[str] = []
    assert read(tmp_path, wxr(item("one")) * 2 + wxr(item("two"), item("three")), faults) == [
        "one",
        "one",
        "two",
        "three",
    ]
    assert "line 5: the XML is broken here (junk after document element)" in faults


def test_every_end_and_every_broken_byte_is_survived(tmp_path: Path) -> None:
    data = wxr(item("one", "two"), item("three")).encode()
    for end in range(0, len(data), 7):
        for content in (data[:end], data[:end] + b"<&\xff" + data[end:]):
            try:
                read(tmp_path, content, [])
            except ImportFailed as error:
                refusal = str(error)
            else:
                continue
            assert "It is a feed of the blog" in refusal
            assert b"wordpress.org/export" not in content


def test_a_huge_text_is_cut_instead_of_kept(tmp_path: Path) -> None:
    [text] = read(tmp_path, wxr(item("x" * 5_000_000)))
    assert len(text) < 1_300_000


def records(
    path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[XmlRecord], list[str]]:
    """Return all records of a file and its faults; so many bytes are read at once."""
    monkeypatch.setattr(xml_records, "PIECE", piece)
    nesting = {"": {"thread", "post", "item"}, "item": {"comment"}}
    faults: list[str] = []

    def skip(fault: InvalidInput) -> None:
        faults.append(str(fault))

    sets = {name: frozenset(names) for name, names in nesting.items()}
    return list(xml_records.read(SourceFile(path), sets, skip)), faults


HIDDEN = (
    "<!-- </post>",
    "<post dsq:id='9'/><!-- </post> -->",
    "-->",
    "<![CDATA[ </post> ]]>",
    "<?x </post> ?>",
    "]]>",
    "&amp;",
    "&eacute;",
    "text",
    "<",
    "</post>",
    "</author>",
    "<post>",
    "<author><name/></author>",
    "<message>a <b>c</b></message>",
    '<thread dsq:id="7" dsq:id="8"/>',
    '<thread dsq:id="7" x="&lt;"/>',
    "\r\n",
    "\uffff",
    "\xff",
)


@pytest.mark.parametrize("sample", [DISQUS, WORDPRESS])
def test_records_are_the_same_in_pieces_of_any_size(
    tmp_path: Path, sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = "</post>" if sample is DISQUS else "</wp:comment>"
    begin, end = sample.index("<" + tag[2:-1]), sample.rindex(tag) + len(tag)
    text = sample[:begin] + sample[begin:end] * 4 + sample[end:]
    path = tmp_path / "file.xml"
    indexes = [index for index, letter in enumerate(text) if letter in "<>" and index > begin]
    for number, hidden in enumerate(HIDDEN):
        for index in indexes[number :: len(HIDDEN) * 2]:
            path.write_text(text[:index] + hidden + text[index:])
            whole = records(path, xml_records.HEAD * 256, monkeypatch)
            in_pieces = records(path, (90, 500)[index % 2], monkeypatch)
            assert in_pieces == whole, (index, hidden)
