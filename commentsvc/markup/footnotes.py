"""Footnotes: gives the notes of a comment ids that no other comment on the page has.

comrak derives ids from the labels, so that two comments with the note ``[^1]`` would have the same
one. Ours contain a digest of the comment's text. Roles of DPUB-ARIA (W3C, 2017) tell screen readers
what the links are for, in the reader's language; comrak's labels are in English.
"""

import hashlib
import itertools
import re
from typing import Final

DIGEST: Final = 5  # bytes
_REFERENCE: Final = re.compile(
    r'<sup class="footnote-ref"><a href="#fn-([^"]*)" id="fnref-([^"]*)" data-footnote-ref>'
    r"(\d+)</a></sup>"
).sub
_NOTE: Final = re.compile(r'<li id="fn-[^"]*">').sub
_BACK: Final = re.compile(
    r'<a href="#fnref-[^"]*" class="footnote-backref" data-footnote-backref'
    r' data-footnote-backref-idx="([\d-]+)" aria-label="[^"]*">↩'
).sub
# The attributes that the sanitizer keeps.
VALUES: Final = {
    "id": re.compile(rf"commentsvc-(?:note|ref)-[0-9a-f]{{{DIGEST * 2}}}-[0-9-]{{1,9}}").fullmatch,
    "role": re.compile("doc-(?:noteref|backlink|endnotes)").fullmatch,
}


def renumber(html: str, source: str) -> str:
    """Return comrak's HTML of `source` with other ids for the notes and for the links to them."""
    digest = hashlib.blake2b(source.encode(), digest_size=DIGEST).hexdigest()
    note, reference = f"commentsvc-note-{digest}-", f"commentsvc-ref-{digest}-"
    numbers = itertools.count(1)  # of the notes: comrak sorts them by their first reference

    def link(match: re.Match[str]) -> str:
        label, repeated, number = match.groups()
        own = reference + number + repeated[len(label) :]
        return f'<sup><a href="#{note}{number}" id="{own}" role="doc-noteref">{number}</a></sup>'

    html = _REFERENCE(link, html)
    html = _NOTE(lambda _: f'<li id="{note}{next(numbers)}">', html)
    html = _BACK(rf'<a href="#{reference}\1" role="doc-backlink">↩', html)
    return html.replace(
        '<section class="footnotes" data-footnotes>', '<section role="doc-endnotes">'
    )
