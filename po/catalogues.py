"""Collect the texts from the sources, update the catalogues, and compile them for the program.

    python po/catalogues.py update            write messages.pot, bring each PO file in line with
                                              it, and write the Hugo module's words
    python po/catalogues.py new TAG           begin the PO file of another language
    python po/catalogues.py compile ZIP DEPS  what the build does: ZIP has for each language TAG.mo
                                              (for gettext) and, for the widget, TAG.json and a file
                                              like TAG.tools.json for each of PARTS, and the list
                                              moderators.json; DEPS tells ninja what it was made of

Babel does the work: it reads and writes the files, finds the texts in Python files and templates,
and knows the plural rules of each language (Unicode CLDR). The program itself does not need it.

The languages of WITH_MODERATION have all texts, the others those that readers of a blog see.
"""

import gettext
import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from babel import Locale
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.plurals import get_plural
from babel.messages.pofile import read_po, write_po

FOLDER: Final = Path(__file__).parent
ROOT: Final = FOLDER.parent
POT: Final = FOLDER / "messages.pot"
WIDGET: Final = FOLDER / "widget.json"
MODERATION: Final = FOLDER / "moderation.json"  # what the widget shows to moderators
HUGO: Final = ROOT / "static" / "hugo" / "assets" / "commentsvc" / "words.json"

ENGLISH: Final = "en"
# Languages in which all texts are translated, also those for moderators.
WITH_MODERATION: Final = frozenset(
    {ENGLISH, "ar", "de", "es", "fr", "it", "ja", "nl", "pl", "pt", "ru", "zh"}
)
# How the paths of sources begin whose texts only moderators see. All other texts are for readers.
FOR_MODERATORS: Final = (
    "commentsvc/admin/",
    "commentsvc/auth/account_mails.py",
    "commentsvc/auth/first_owner.py",
    "commentsvc/auth/invitations.py",
    "commentsvc/auth/passwords.py",
    "commentsvc/auth/two_factor.py",
    "commentsvc/delivery/classifier.py",
    "commentsvc/delivery/decision_links.py",
    "commentsvc/delivery/judge.py",
    "commentsvc/delivery/telegram.py",
    "commentsvc/delivery/telegram_buttons.py",
    "commentsvc/delivery/webhooks.py",
    "commentsvc/legal/",
    "commentsvc/moderation/",
    "commentsvc/settings/everyday.py",
    "commentsvc/spam/bans.py",
    "commentsvc/spam/reasons.py",
    "commentsvc/templates/mail/account.jinja",
    "commentsvc/templates/mail/invitation.jinja",
    "commentsvc/templates/mail/note.jinja",
    "commentsvc/templates/mail/notes.jinja",
    "commentsvc/templates/mail/submitted.jinja",
    "commentsvc/templates/mail/test.jinja",
    "commentsvc/templates/admin/",
    "po/moderation.json",
)
# Parts of the texts that are loaded only when they are used; most are sections of widget.json.
PARTS: Final = (
    *("tools", "form", "reactions", "views", "fresh", "since", "images", "note", "moderation"),
)
# The keys of the section "widget" that only forms and errors need, as those of "form".
FORM: Final = {
    *("413", "429", "500", "approved", "author", "cancel", "change", "commentingAs", "email"),
    *("excess", "formatting", "hint", "kept", "left", "message", "moderate", "offline"),
    *("pending", "preview", "remember", "save", "send", "sending", "site", "stored", "twice"),
}
# The number of comments: in the widget, in the service and in Hugo. Zero has a text of its own.
COUNT: Final = "widget.count"
NONE: Final = "widget.none"
# The parts that are a number, with its plural forms: how often a page was viewed, new comments, and
# those since the last visit.
NUMBERS: Final = {"views", "fresh", "since"}
# The digits of languages that have others than 0 to 9 (CLDR; Babel's versions differ on Arabic).
DIGITS: Final = {"bn": "০১২৩৪৫৬৭৮৯", "fa": "۰۱۲۳۴۵۶۷۸۹"}
# How long ago a comment was written is told in the largest of these, by its minutes.
UNITS: Final = {525_949: "year", 43_829: "month", 1440: "day", 60: "hour", 1: "minute"}
# The plural form of a number depends on the number up to this, and on its last two digits above.
PERIOD: Final = 100

_plural_rule = cache(gettext.c2py)  # it compiles the rule, which takes longer than to apply it

METHODS: Final = [("**/templates/**", "jinja2"), ("**.py", "python")]
OPTIONS: Final = {"**/templates/**": {"trimmed": "true", "silent": "false"}}
KEYWORDS: Final = {
    "_": None,
    "gettext": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
}
# Headers that change with each run, or repeat what is known.
HEADERS_LEFT_OUT: Final = re.compile(
    rb'^"(?:POT-Creation-Date|PO-Revision-Date|Last-Translator|Language-Team|Generated-By|'
    rb"Report-Msgid-Bugs-To): [^\n]*\n",
    re.MULTILINE,
)


def paths() -> dict[str, Path]:
    """Return the PO file of each language by its tag. English is what the sources say."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.po"))}


def read(path: Path) -> Catalog:
    """Return the catalogue in a PO file or the template."""
    with path.open("rb") as file:
        return read_po(file, locale=None if path == POT else locale(path.stem))


def locale(tag: str) -> Locale:
    """Return the locale of a language's tag, which may name a script: "zh-Hant"."""
    return Locale.parse(tag, sep="-")


def is_for_readers(message: Message) -> bool:
    """Return whether readers of a blog see a text."""
    return not all(path.startswith(FOR_MODERATORS) for path, _ in message.locations)


def texts_for(tag: str, template: Catalog) -> Catalog:
    """Return those texts of the template that are translated into a language."""
    if tag in WITH_MODERATION:
        return template
    chosen = Catalog()
    for message in template:
        if message.id and is_for_readers(message):
            chosen[message.id] = message
    return chosen


def extract() -> Catalog:
    """Return a catalogue of the texts in all sources."""
    catalog = Catalog(project="commentsvc", copyright_holder="the commentsvc authors")
    catalog.header_comment = (
        "# The texts of commentsvc. Written by `make words`: change the sources instead.\n#"
    )
    catalog.fuzzy = False
    for file, _, text, comments, context in sorted(
        extract_from_dir(
            ROOT / "commentsvc",
            METHODS,
            OPTIONS,
            KEYWORDS,
            comment_tags=("translators:",),
            strip_comment_tags=True,
        ),
        key=lambda found: (found[0], found[1]),
    ):
        catalog.add(
            text,
            locations=[(f"commentsvc/{file}", 0)],
            auto_comments=comments,
            context=context,
        )
    for path in (WIDGET, MODERATION):
        location = [(path.relative_to(ROOT).as_posix(), 0)]
        for section, texts in json.loads(path.read_text("utf-8")).items():
            for key, text in texts.items():
                said = tuple(text) if isinstance(text, list) else text
                catalog.add(said, locations=location, context=f"{section}.{key}")
    return catalog


def written(catalog: Catalog) -> bytes:
    """Return the text of a PO file, without headers that change at each run."""
    buffer = BytesIO()
    write_po(buffer, catalog, width=100, include_lineno=False, ignore_obsolete=True)
    return HEADERS_LEFT_OUT.sub(b"", buffer.getvalue())


def updated(template: Catalog, path: Path) -> bytes:
    """Return a PO file with the texts of `template`: new ones untranslated, old ones dropped."""
    catalog = read(path)
    catalog.update(texts_for(path.stem, template), no_fuzzy_matching=True)
    return written(catalog)


def entries(catalog: Catalog, section: str) -> Iterator[tuple[str, Message]]:
    """Yield the entries of a section of widget.json, by their keys."""
    for message in catalog:
        name, _, key = (message.context or "").partition(".")
        if name == section:
            yield key, message


def words(catalog: Catalog, section: str) -> dict[str, str]:
    """Return a section's texts in a language; texts without a translation are English."""
    found = {}
    for key, message in entries(catalog, section):
        if not isinstance(message.id, tuple):
            found[key] = str(message.string or message.id)
    return found


def count_forms(catalog: Catalog, context: str = COUNT) -> tuple[str, ...]:
    """Return the plural forms of the number of comments, or of another text."""
    message = next(each for each in catalog if each.context == context)
    said = tuple(map(str, message.string or ()))
    return said if any(said) else tuple(message.id)


def plural_index(catalog: Catalog, number: int) -> int:
    """Return which plural form a PO file gives for a number."""
    if catalog.locale is None:
        return int(number != 1)
    return int(_plural_rule(catalog.plural_expr)(number))


def widget_words(tag: str, catalog: Catalog) -> dict[str, object]:
    """Return what the widget loads: the forms of the count by CLDR's names, and its texts."""
    texts = words(catalog, "widget")
    counts = {"zero": texts.pop("none")} | cldr_forms(tag, catalog, COUNT)
    about = {"tag": tag, "counts": counts, "ago": ago(tag)} | digits(tag)
    return about | {k: texts[k] for k in texts if k not in FORM}


def digits(tag: str) -> dict[str, object]:
    """Return the digits of a language as "digits", if they are others than 0 to 9."""
    return {"digits": DIGITS[tag]} if tag in DIGITS else {}


def ago(tag: str) -> dict[int, dict[str, str]]:
    """Return the forms of "# days ago" and the like, by the unit's minutes, as CLDR has them."""
    # Babel's public functions choose the unit themselves.
    fields = locale(tag)._data["date_fields"]
    return {minutes: used_forms(tag, fields[unit]["past"]) for minutes, unit in UNITS.items()}


def durations(tag: str) -> dict[str, dict[str, str]]:
    """Return the forms of "# hours" and the like, by unit, as CLDR has them."""
    patterns = locale(tag)._data["unit_patterns"]
    found = {}
    for unit in ("hour", "minute", "second"):
        lengths = patterns[f"duration-{unit}"]
        # CLDR leaves out the long form where it is the short one.
        is_long = "other" in lengths.get("long", ())
        found[unit] = used_forms(tag, lengths["long" if is_long else "short"])
    return found


def used_forms(tag: str, patterns: Mapping[str, str]) -> dict[str, str]:
    """Return the patterns of CLDR that whole numbers use, with "#" for the number."""
    rule, other = locale(tag).plural_form, patterns["other"]
    used = {rule(number) for number in (*range(1, 200), 1_000_000)}
    differing = {name for name in used if patterns.get(name, other) != other}
    forms = {name: patterns[name] for name in patterns if name in {*differing, "other"}}
    return {name: text.replace("{0}", "#") for name, text in forms.items()}


def cldr_forms(tag: str, catalog: Catalog, context: str) -> dict[str, str]:
    """Return the forms of a number by CLDR's names, apart from that of zero."""
    forms, rule = count_forms(catalog, context), locale(tag).plural_form
    found: dict[str, str] = {}
    for number in (*range(1, 200), 1_000_000):
        found.setdefault(rule(number), forms[plural_index(catalog, number)])
    # Some languages have a form for fractions; these numbers are always whole.
    found.setdefault("other", forms[-1])
    return found


def part_words(tag: str, catalog: Catalog, part: str) -> dict[str, object]:
    """Return the texts of one of PARTS."""
    if part in NUMBERS:
        context = f"{part}.count"
        zero = count_forms(catalog, context)[plural_index(catalog, 0)]
        return {"tag": tag, **digits(tag)} | {
            "counts": {"zero": zero} | cldr_forms(tag, catalog, context)
        }
    found: dict[str, object] = dict(words(catalog, part))
    if part == "form":
        found |= {key: text for key, text in words(catalog, "widget").items() if key in FORM}
        found["units"] = durations(tag)
    return found


def hugo_words(tag: str, catalog: Catalog) -> dict[str, Any]:  # Any: JSON
    """Return the texts of the Hugo module in a language.

    Hugo's templates cannot evaluate a plural rule, so `form_of` has a digit for each number: for
    those below PERIOD and, after them, for the last two digits of the others.
    """
    numbers = [*range(PERIOD), *range(PERIOD, 2 * PERIOD)]
    widget = words(catalog, "widget")
    return {
        **words(catalog, "hugo"),
        "byMail": words(catalog, "form")["byMail"],
        **{
            key: widget[key] for key in ("gone", "moderator", "none", "owner", "pinned", "verified")
        },
        "counts": list(count_forms(catalog)),
        "form_of": "".join(str(plural_index(catalog, number)) for number in numbers),
        **digits(tag),
    }


def catalogs() -> dict[str, Catalog]:
    """Return all catalogues by language tag, English first, as they are shown."""
    found = {ENGLISH: read(POT), **{tag: read(path) for tag, path in paths().items()}}
    for message in found["fr"]:
        said = message.string or ""
        message.string = typeset(said) if isinstance(said, str) else tuple(map(typeset, said))
    return found


def typeset(french: str) -> str:
    """Return a French text with no-break spaces, so that no line begins with a punctuation mark."""
    return re.sub(r" (?=[;:?!»])|(?<=«) ", "\N{NO-BREAK SPACE}", french)


def hugo_file() -> str:
    """Return the content of the Hugo module's file of texts."""
    found = {tag: hugo_words(tag, catalog) for tag, catalog in catalogs().items()}
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def update() -> None:
    """Update all files from the sources."""
    template = extract()
    POT.write_bytes(written(template))
    for path in paths().values():
        path.write_bytes(updated(template, path))
    HUGO.write_text(hugo_file(), "utf-8")


def new(tag: str) -> None:
    """Create the PO file of a language, with its plural rule."""
    known = locale(tag)
    catalog = Catalog(locale=known, project="commentsvc")
    catalog.header_comment = f"# {known.english_name} texts of commentsvc.\n#"
    catalog.fuzzy = False
    assert get_plural(str(known)), tag
    (FOLDER / f"{tag}.po").write_bytes(written(catalog))
    update()


def compile_all(archive: Path, dependencies: Path) -> None:
    """Write the archive that the program reads; `dependencies` lists the files it is made from."""
    with ZipFile(archive, "w") as output:

        def put(name: str, content: str | bytes) -> None:
            """Add a file. No file says when it was made, so that two builds are the same."""
            output.writestr(ZipInfo(name), content, ZIP_DEFLATED)

        put("moderators.json", json.dumps(sorted(WITH_MODERATION)))
        every = catalogs()
        for tag, catalog in every.items():
            catalog.creation_date = datetime.fromtimestamp(0, UTC)
            buffer = BytesIO()
            write_mo(buffer, catalog)
            put(f"{tag}.mo", buffer.getvalue())
            texts = json.dumps(
                widget_words(tag, catalog), ensure_ascii=False, separators=(",", ":")
            )
            put(f"{tag}.json", texts)
            for part in PARTS:
                is_english = part == "moderation" and tag not in WITH_MODERATION
                found = part_words(tag, every[ENGLISH] if is_english else catalog, part)
                texts = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
                put(f"{tag}.{part}.json", texts)
    # The folder is listed too, so that a new file in it causes a rebuild.
    sources = " ".join(str(path).replace(" ", "\\ ") for path in (FOLDER, POT, *paths().values()))
    dependencies.write_text(f"{archive}: {sources}\n", "utf-8")


def main(command: str = "", *arguments: str) -> None:
    """Run the command of the command line."""
    match command, *arguments:
        case ["update"]:
            update()
        case ["new", tag]:
            new(tag)
        case ["compile", archive, dependencies]:
            compile_all(Path(archive), Path(dependencies))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
