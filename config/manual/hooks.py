"""What MkDocs needs to make a site of files that are written for a forge.

The README is the first page. A link to a file that is no page of the site leads to the sources,
whose address `extra.sources` has; without one it is plain text.
"""

import posixpath
import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]
# The pages that are not in docs/, by the names that they have in the site.
OUTSIDE: Final = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
}
FENCE: Final = re.compile(r"(^```.*?^```\n)", re.DOTALL | re.MULTILINE)
# Code, in which nothing is a link; or a link with its text; or an address in HTML.
LINKS: Final = re.compile(
    r"`[^`\n]+`|\[(?P<text>(?:[^\[\]`]|`[^`]*`)+)\]\((?P<target>[^()\s]+)\)"
    r'|(?<=src=")(?P<src>[^"]+)|(?<=srcset=")(?P<srcset>[^"]+)'
)
# Where CommonMark, in which the pages are written, differs from Python-Markdown: a list needs no
# empty line before it, what belongs to an item is indented by less than 4, and no number but 1
# begins a list inside of a paragraph.
DIALECT: Final = (
    (re.compile(r"^(?=[^\s-]| +(?:\||```$))(.+)\n(?=- )", re.MULTILINE), r"\1\n\n"),
    (re.compile(r"^(?=  )", re.MULTILINE), "  "),
    (re.compile(r"^( +\d+)\. ", re.MULTILINE), r"\1\\. "),
)
PICTURE: Final = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r'<img src="([^"]+)"([^>]*)>\s*</picture>'
)

BOTH_PICTURES: Final = (
    r'<img src="\2#only-light"\3 loading="lazy"><img src="\1#only-dark"\3 loading="lazy">'
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for name, source in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Return the text of a page with links for the site, and pictures that follow its dark mode."""
    folder = "" if page.file.src_uri in OUTSIDE else "docs"

    def for_site(link: re.Match[str]) -> str:
        address = link["target"] or link["src"] or link["srcset"]
        if address is None or re.match(r"[a-z]+:|#", address):
            return link[0]
        path, hash_sign, anchor = address.partition("#")
        path = posixpath.normpath(posixpath.join(folder, path))
        found = in_site(path) or (config.extra["sources"] and config.extra["sources"] + path)
        if not found:
            return link["text"]
        found += hash_sign + anchor
        return f"[{link['text']}]({found})" if link["text"] else found

    parts = FENCE.split(markdown)
    for number in range(0, len(parts), 2):  # the others are code
        text = PICTURE.sub(BOTH_PICTURES, LINKS.sub(for_site, parts[number]))
        for pattern, written in DIALECT:
            text = pattern.sub(written, text)
        parts[number] = text
    return "".join(parts)


def in_site(path: str) -> str | None:
    """Return where a file of the sources is in the site, or None."""
    for name, source in OUTSIDE.items():
        if path == source:
            return name
    return path.removeprefix("docs/") if path.startswith("docs/") else None


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Return the HTML of a page with what the theme lacks for readers without a mouse.

    A wide table is scrolled by the keys, and the window for the search has a name.
    """
    output = output.replace('"md-search"', '"md-search" aria-label="Search"')
    output = output.replace("<table>", '<div class="manual-table" tabindex="0"><table>')
    return output.replace("</table>", "</table></div>")
