"""Documents made from the settings, and whether a published one still fits them.

The last line of a document names its version: the kind and a digest of its sentences in English. So
the version is the same in all languages, and another one as soon as a sentence is.
"""

import hashlib
import re
from collections.abc import Iterable
from html import unescape
from typing import Final, NamedTuple, TypeAlias

from commentsvc.util.i18n import ENGLISH, Language, Message, Text, find_language, speaking
from commentsvc.util.i18n import gettext as _

PRIVACY, PROCESSING, FACTS = "privacy", "processing", "facts"
KINDS: Final = (PRIVACY, PROCESSING, FACTS)
VERSION: Final = re.compile(rf"\b({'|'.join(KINDS)})-[0-9a-f]{{12}}\b")
_TAG: Final = re.compile(r"<[^<>]{0,2000}>")
NO_ADVICE: Final = _(
    "This text was made from the settings of the comment service. It is not legal advice."
)
Item: TypeAlias = tuple[Message, ...]  # sentences in one line


class Section(NamedTuple):
    """A heading, and the lines below it."""

    title: Message
    items: tuple[Item, ...]


class LegalDocument(NamedTuple):
    """A document about a site; `kind` is one of KINDS."""

    kind: str
    title: Message
    sections: tuple[Section, ...]

    @property
    def version(self) -> str:
        """Return the kind and a digest of all sentences."""
        said = "\n".join(self._said(find_language(ENGLISH)))
        return f"{self.kind}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    @property
    def end(self) -> tuple[Message, Message]:
        """Return what stands below the sections."""
        return NO_ADVICE, _("Version: %(version)s", version=self.version)

    def markdown(self, language: Language) -> str:
        """Return the document as Markdown."""
        end = self.end
        with speaking(language):
            lines = [f"# {_escaped(self.title)}"]
            for title, items in self.sections:
                said = [f"- {' '.join(map(_escaped, item))}" for item in items]
                lines += [f"## {_escaped(title)}", "\n".join(said)]
            return "\n\n".join([*lines, *map(_escaped, end), ""])

    def missing(self, published: str, language: Language) -> list[str]:
        """Return the sentences that a published text lacks.

        Letters and digits are compared, since blogs change quotation marks and the like.
        """
        there = _letters(published)
        return [said for said in self._said(language) if _letters(said) not in there]

    def _said(self, language: Language) -> list[str]:
        with speaking(language):
            return [str(said) for _title, items in self.sections for item in items for said in item]


def _escaped(text: Text) -> str:
    """Return a text in which Markdown finds neither HTML nor links nor emphasis."""
    return re.sub(r"[<>`*\[\]\\]|(?<!\w)_|_(?!\w)", r"\\\g<0>", str(text))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def plain(published: str) -> str:
    """Return the text of a page; what is no HTML stays as it is."""
    return unescape(_TAG.sub("", published))


def difference(
    documents: Iterable[LegalDocument], languages: Iterable[Language], published: str
) -> list[str]:
    """Return the sentences that a published text lacks of the document that it has most of."""
    spoken = list(languages)
    return min(
        (each.missing(published, language) for each in documents for language in spoken), key=len
    )
