"""languages: the widget's words, read as they are written for browsers."""

import pytest

from commentsvc.util import languages
from commentsvc.util.languages import Languages, asked


@pytest.fixture(scope="module")
def known() -> Languages:
    return Languages()


@pytest.mark.parametrize(
    ("query", "tag", "direction"),
    [
        ("lang=de", "de", "ltr"),
        ("url=/p/&lang=pt-BR&site=a", "pt", "ltr"),
        ("lang=ar-EG", "ar", "rtl"),
        ("lang=zh-Hant", "zh", "ltr"),
        ("", "en", "ltr"),
        ("lang=", "en", "ltr"),
        ("lang=sv", "en", "ltr"),
        ("lang=deutsch", "en", "ltr"),
        ("slang=de", "en", "ltr"),
        ("lang=%ff", "en", "ltr"),
    ],
)
def test_a_language_is_asked_for_by_its_tag(
    known: Languages, query: str, tag: str, direction: str
) -> None:
    found = known.find(asked(query))
    assert (found.tag, found.direction) == (tag, direction)


def test_texts_are_read_whatever_they_contain() -> None:
    source = """export default {
      counts: { zero: "none: {", other: "#, \\"so\\"" },
      409: "a: b, }",
      left: "الأحرف المتبقية: #",
    };
    """
    counts, words = languages._read(source)
    assert counts == {"zero": "none: {", "other": '#, "so"'}
    assert words == {"409": "a: b, }", "left": "الأحرف المتبقية: #"}


@pytest.mark.parametrize(
    ("tag", "texts"),
    [
        ("en", ["No comments", "1 comment", "2 comments"]),
        ("fr", ["Aucun commentaire", "1 commentaire", "2 commentaires"]),
        ("ja", ["コメントはありません", "コメント 1件", "コメント 2件"]),
    ],
)
def test_numbers_are_told_in_words(known: Languages, tag: str, texts: list[str]) -> None:
    assert [known.find(tag).count(number) for number in range(3)] == texts
