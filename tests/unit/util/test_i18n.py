"""The catalogues are complete and up to date, and each message is shown in each language."""

import re
from collections import defaultdict
from functools import cache

import msgspec
import pytest
from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as CatalogEntry

from commentsvc.api.errors import as_http
from commentsvc.comments.submission import Rules, SubmissionError, from_form
from commentsvc.errors import ThreadClosed, UnknownParent
from commentsvc.settings.schema import CommentsSettings
from commentsvc.submissions import service
from commentsvc.util.i18n import (
    DIGITS,
    RIGHT_TO_LEFT,
    Language,
    Message,
    Text,
    accepted_language,
    find_language,
    gettext,
    languages,
    match_language,
    moderators_language,
    moderators_tags,
    ngettext,
    pgettext,
    requested_language,
    speaking,
    spoken,
    translate,
)
from po import catalogues

TRANSLATED = sorted(catalogues.paths())
ALL = sorted(["en", *TRANSLATED])
TEMPLATE = catalogues.read(catalogues.POT)

# The mistakes of a reader who fills in a form and sends it.
WRONG = {
    "nothing at all": {},
    "too much": {"author": "x" * 81, "message": "y" * 9000},
    "no address": {"email": "rosa", "site": "rosa at home"},
    "no address to mail answers to": {"notify": "yes"},
}

# Names in a text, "#", and HTML elements in the texts of templates.
PLACEHOLDERS = re.compile(r"%\(\w+\)[sd]|%%|#|</?\w+[^>]*>|https?://")

# The tag and name of a language in a table of the manual; a star marks those with all texts.
ROW = re.compile(r"\| ([a-z]{2,3}(?:-[A-Z][a-z]+)?) \| ([^|]+) \|")


@cache
def catalogs() -> dict[str, Catalog]:
    """Return all catalogues by their tags, as they are compiled."""
    return catalogues.catalogs()


@cache
def wanted_in(tag: str) -> list[CatalogEntry]:
    """Return the texts that a language must have."""
    return [entry for entry in catalogues.texts_for(tag, TEMPLATE) if entry.id]


def forms(entry: CatalogEntry) -> list[str]:
    """Return all translations of a text: its plural forms, or the one text."""
    found = entry.string if isinstance(entry.string, (tuple, list)) else [entry.string]
    return [str(text or "") for text in found]


def originals(entry: CatalogEntry) -> list[str]:
    """Return the English singular and plural, or the one text."""
    return list(entry.id) if isinstance(entry.id, (tuple, list)) else [entry.id]


def untranslated(tag: str, catalog: Catalog) -> list[str]:
    """Return the texts that have no translation into a language, or not all of its forms."""
    said = {(entry.context, entry.id): forms(entry) for entry in catalog if entry.id}
    return [
        originals(entry)[0]
        for entry in wanted_in(tag)
        if not all(map(str.strip, said.get((entry.context, entry.id), [""])))
    ]


def faults(tag: str, catalog: Catalog) -> list[str]:
    """Return what a translator has to correct, as the test reports it."""
    found = []
    by_id = {(entry.context, entry.id): entry for entry in catalog if entry.id}
    for entry in wanted_in(tag):
        said = by_id.get((entry.context, entry.id))
        if said is None or not all(forms(said)):
            continue  # untranslated
        if said.fuzzy:
            found.append(f"marked as fuzzy: {entry.id}")
        if len(forms(said)) != (catalog.num_plurals if entry.pluralizable else 1):
            found.append(f"a plural form is missing: {entry.id}")
        wanted = sorted(PLACEHOLDERS.findall(originals(entry)[-1]))
        counted = {name for name in wanted if name in ("#", "%(num)s", "%(num)d")}
        for text in forms(said):
            names = sorted(PLACEHOLDERS.findall(text))
            # A form may say its number in words: "one comment".
            spelt = entry.pluralizable and {*wanted} - {*names} <= counted
            if names != wanted and not (spelt and {*names} <= {*wanted}):
                found.append(f"other placeholders: {entry.id}: {text}")
    return found


def refusals() -> list[Text]:
    """Return every error that a reader can get who sends a form."""
    texts: list[Text] = [text for _, text in service.REFUSED.values()]
    for values in WRONG.values():
        with pytest.raises(SubmissionError) as caught:
            from_form(
                values,
                Rules(CommentsSettings(), lambda url: ("", "/p/")),
            )
        texts += caught.value.problems.values()
    for failure in (UnknownParent(), ThreadClosed()):
        error = as_http(failure)
        assert error is not None
        texts.append(error.message)
    return texts


@pytest.mark.locked_only("it is about the sources")
def test_the_template_and_the_translations_are_in_line_with_the_sources() -> None:
    """Run ``make words`` after a change of a text."""
    assert catalogues.POT.read_bytes() == catalogues.written(TEMPLATE)
    assert catalogues.written(catalogues.extract()) == catalogues.POT.read_bytes()
    for path in catalogues.paths().values():
        assert catalogues.updated(TEMPLATE, path) == path.read_bytes(), path.name
    assert catalogues.hugo_file() == catalogues.HUGO.read_text("utf-8")


def test_every_language_is_compiled() -> None:
    assert sorted(catalogs()) == sorted(languages()) == ALL
    assert moderators_tags() == sorted(catalogues.WITH_MODERATION)


def test_every_text_for_readers_is_translated_into_every_language() -> None:
    """`make words` adds a new text to each PO file; translate it there."""
    missing = defaultdict(list)
    for tag in TRANSLATED:
        for text in untranslated(tag, catalogs()[tag]):
            missing[text].append(tag)
    assert dict(missing) == {}


# The texts that have no section of the widget's.
PLAIN = [entry for entry in TEMPLATE if entry.id and not entry.context]


def test_the_texts_of_moderation_pages_are_not_for_readers() -> None:
    texts = {entry.id: catalogues.is_for_readers(entry) for entry in PLAIN}
    assert texts["Please enter a name."]
    assert texts["Approve"], "a page behind the link of a mail shows it, too"
    assert not texts["Ban added."]
    assert not texts["Back to the account"]


@pytest.mark.parametrize("tag", TRANSLATED)
def test_a_translation_has_all_placeholders_and_plural_forms(tag: str) -> None:
    assert faults(tag, catalogs()[tag]) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"string": ("# Kommentar", "alle Kommentare", "# K.")}, "a plural form is missing"),
        ({"string": ("# Kommentar", "%(num)s Kommentare")}, "other placeholders"),
        ({"flags": {"fuzzy"}}, "marked as fuzzy"),
    ],
)
def test_a_fault_of_a_translation_is_found(change: dict[str, object], fault: str) -> None:
    catalog = catalogues.read(catalogues.paths()["de"])
    entry = next(each for each in catalog if each.context == catalogues.COUNT)
    for name, value in change.items():
        setattr(entry, name, value)
    assert fault in faults("de", catalog)[0]


@pytest.mark.parametrize("said", ["", ("ein # Kommentar", "")])
def test_a_text_without_a_translation_is_named(said: str | tuple[str, str]) -> None:
    catalog = catalogues.read(catalogues.paths()["de"])
    entry = next(each for each in catalog if each.context == catalogues.COUNT)
    entry.string = said
    assert untranslated("de", catalog) == ["# comment"]


def test_french_signs_do_not_stand_alone_at_the_beginning_of_a_line() -> None:
    french = catalogs()["fr"]
    texts = [text for entry in french if entry.id for text in forms(entry)]
    assert [text for text in texts if re.search(r" [;:?!»]|« ", text)] == []


@pytest.mark.parametrize("tag", sorted(RIGHT_TO_LEFT))
def test_an_address_does_not_turn_in_a_text_from_right_to_left(tag: str) -> None:
    texts = [text for entry in catalogs()[tag] if entry.id for text in forms(entry)]
    addresses = [found for text in texts for found in re.findall(r"https?://.?", text)]
    assert addresses
    assert {found[-1] for found in addresses} == {"\N{LEFT-TO-RIGHT MARK}"}


@pytest.mark.parametrize("tag", TRANSLATED)
def test_plural_forms_are_those_of_cldr(tag: str) -> None:
    """Two numbers share a form exactly where Unicode's CLDR says so."""
    catalog, rule = catalogs()[tag], catalogues.locale(tag).plural_form
    numbers = [*range(300), 1_000_000, 1_000_001, 2_000_000]
    pairs = {(rule(number), catalogues.plural_index(catalog, number)) for number in numbers}
    assert len(pairs) == len({name for name, _ in pairs}) == catalog.num_plurals


def test_every_refusal_of_a_form_is_a_message() -> None:
    found = refusals()
    assert all(isinstance(text, Message) for text in found), found


@pytest.mark.parametrize("tag", ALL)
def test_the_name_of_a_reply_button_contains_what_is_seen_of_it(tag: str) -> None:
    """WCAG 2.5.3: speech control finds the button by the text that is seen."""
    words = find_language(tag).widget
    assert words["reply"].lower() in words["replyTo"].lower().replace("#", "x")


@pytest.mark.parametrize("text", refusals(), ids=str)
def test_a_message_can_be_said_in_every_language(text: Text) -> None:
    assert [tag for tag in TRANSLATED if translate(text, tag) == translate(text)] == []


def test_a_parameter_stands_where_the_language_wants_it() -> None:
    message = gettext(
        "This has %(length)s characters; at most %(limit)s are allowed.", length=81, limit=80
    )
    assert translate(message, "de") == "Das sind 81 Zeichen; höchstens 80 sind möglich."
    assert translate(message) == "This has 81 characters; at most 80 are allowed."


def test_a_message_is_said_in_the_language_that_is_spoken() -> None:
    message = gettext("Please enter a name.")
    with speaking(find_language("de")):
        assert str(message) == "Bitte gib einen Namen an."
        with speaking(find_language("fr")):
            assert str(message) == translate(message, "fr")
        assert spoken().tag == "de"
    assert str(message) == "Please enter a name."


def test_context_and_number_choose_a_text() -> None:
    assert translate(pgettext("widget.write", "Write a comment"), "de") == "Kommentar schreiben"
    dogs = [str(ngettext("%(num)s dog", "%(num)s dogs", number)) for number in (1, 2)]
    assert dogs == ["1 dog", "2 dogs"]


def test_an_unknown_language_is_english_and_a_plain_text_stays_as_it_is() -> None:
    assert translate(gettext("Please enter a name."), "sw") == "Please enter a name."
    assert translate("There is no such field.", "de") == "There is no such field."


@pytest.mark.parametrize("tag", ALL)
def test_the_widget_gets_its_texts_and_no_others(tag: str) -> None:
    language = find_language(tag)
    sent = msgspec.json.decode(language.widget_json)
    keys = {key for key, _ in catalogues.entries(TEMPLATE, "widget")} - {"none", "count"}
    assert sent.keys() - {"digits"} == {"tag", "counts", "ago", *keys} - catalogues.FORM
    assert all(sent["counts"].keys() >= forms.keys() - {"two"} for forms in sent["ago"].values())
    assert sent["tag"] == tag
    form = msgspec.json.decode(language.part("form"))
    section = {key for key, _ in catalogues.entries(TEMPLATE, "form")}
    assert form.keys() == catalogues.FORM | section | {"units"}
    assert language.widget.keys() == keys | section


@pytest.mark.parametrize("tag", ALL)
def test_hugo_is_told_the_plural_form_of_each_number(tag: str) -> None:
    words = catalogues.hugo_words(tag, catalogs()[tag])
    own = str.maketrans(DIGITS, words.get("digits", DIGITS))
    for number in range(1, 1_100):
        index = number if number < 100 else 100 + number % 100
        text = words["counts"][int(words["form_of"][index])]
        assert text.replace("#", str(number).translate(own)) == find_language(tag).count(number)


@pytest.mark.parametrize(
    ("query", "tag", "direction"),
    [
        ("lang=de", "de", "ltr"),
        ("url=/p/&lang=pt-BR&site=a", "pt", "ltr"),
        ("lang=ar-EG", "ar", "rtl"),
        ("lang=zh-Hans-HK", "zh", "ltr"),
        ("lang=zh-TW", "zh-Hant", "ltr"),
        ("lang=nb-NO", "nb", "ltr"),
        ("lang=no", "nb", "ltr"),
        ("lang=no-NO", "nb", "ltr"),
        ("lang=iw-IL", "he", "rtl"),
        ("lang=in", "id", "ltr"),
        ("lang=fa", "fa", "rtl"),
        ("lang=he-IL", "he", "rtl"),
        ("lang=AR_eg", "ar", "rtl"),
        ("", "en", "ltr"),
        ("lang=", "en", "ltr"),
        ("lang=sw", "en", "ltr"),
        ("lang=deutsch", "en", "ltr"),
        ("slang=de", "en", "ltr"),
        ("lang=%ff", "en", "ltr"),
    ],
)
def test_a_query_names_its_language_by_a_tag(query: str, tag: str, direction: str) -> None:
    found = find_language(requested_language(query))
    assert (found.tag, found.direction) == (tag, direction)


@pytest.mark.parametrize(
    ("header", "tag"),
    [
        ("", ""),
        ("de", "de"),
        ("de-AT, en;q=0.5", "de"),
        ("sw, fr;q=0.3, ar;q=0.9", "ar"),
        ("chr, FR-ca;q=0.3", "fr"),
        ("no, en;q=0.9", "nb"),
        ("de;q=0, fr;q=0.1", "fr"),
        ("*", ""),
        ("en;q=x, deutsch", ""),
        ("de," * 100_000, "de"),
    ],
)
def test_a_browser_names_the_languages_that_it_wants(header: str, tag: str) -> None:
    assert accepted_language(header, languages()) == tag


@pytest.mark.parametrize(
    ("wanted", "tag"),
    [
        ("zh-Hant", "zh-Hant"),
        ("zh-TW", "zh-Hant"),
        ("zh_hk", "zh-Hant"),
        ("zh-Hant-MO", "zh-Hant"),
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("zh-Hans-TW", "zh"),
        ("zh-two", "zh"),
    ],
)
def test_the_script_of_chinese_follows_from_the_region(wanted: str, tag: str) -> None:
    assert match_language(wanted, ("zh", "zh-Hant")) == tag
    assert match_language(wanted, ("zh",)) == "zh"


def test_moderators_read_english_where_a_language_has_only_the_texts_for_readers() -> None:
    assert "sv" not in moderators_tags()
    assert moderators_language("sv-FI").tag == "en"
    assert moderators_language("fr-BE").tag == "fr"
    assert find_language("sv-FI").tag == "sv"


def test_the_manual_names_every_language() -> None:
    texts = {
        name: (catalogues.ROOT / name).read_text("utf-8")
        for name in ("CHANGELOG.md", "README.md", "docs/translating.md")
    }
    for name, text in texts.items():
        assert re.findall(r"(\d+) languages", text) == [str(len(ALL))], name
    rows = re.findall(r"^\|.*\|$", texts["docs/translating.md"], re.MULTILINE)
    named = {tag: "*" in name for row in rows for tag, name in ROW.findall(row)}
    assert named == {tag: tag in catalogues.WITH_MODERATION for tag in ALL}


def test_no_text_is_read_before_a_language_is_used() -> None:
    read = []

    def file(ending: str) -> bytes:
        read.append(ending)
        return b'{"a": "b"}'

    language = Language("de", file, for_moderators=True)
    assert read == []
    assert (language.widget, language.widget_json) == ({"a": "b"}, b'{"a": "b"}')
    assert language.part("tools") == b'{"a": "b"}'
    assert read == ["json", "form.json", "tools.json"]


@pytest.mark.parametrize(
    ("tag", "texts"),
    [
        ("en", ["No comments", "1 comment", "2 comments"]),
        ("fr", ["Aucun commentaire", "1 commentaire", "2 commentaires"]),
        ("ja", ["コメントはありません", "コメント 1件", "コメント 2件"]),
        ("bn", ["কোনো মন্তব্য নেই", "১টি মন্তব্য", "২টি মন্তব্য"]),
    ],
)
def test_the_number_of_comments_is_said_in_words(tag: str, texts: list[str]) -> None:
    assert [find_language(tag).count(number) for number in range(3)] == texts
