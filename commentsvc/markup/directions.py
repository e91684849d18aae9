"""Directions: blocks of a comment with right-to-left text say theirs; code is left to right.

A block takes the direction of its first letter outside of code, formulas, bare URLs and @names,
since those are often Latin in Hebrew or Arabic text. It is written out, as mail programs do not
know ``dir="auto"``, which also skips what has a `dir` itself: a list would not follow its items.
Text without such letters stays as it is: what is around it (``dir="auto"``) finds its direction.
"""

import re
from typing import Final

# Letters of bidirectional type R or AL (Unicode Standard Annex 9), RLM and ALM.
_RTL: Final = (
    r"(?:[\u200f\u061c]|(?![\W\d_])"
    r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff])"
)
_HAS_SOME: Final = re.compile(_RTL).search
_REST: Final = r"[^>\"]*+(?:\"[^\"]*\"[^>\"]*+)*"  # of a tag
_BLOCK: Final = "p|h[4-6]|[uo]l|li|blockquote|section|table|t[dh]"
_PARTS: Final = re.compile(
    rf"<(?:(?P<code>pre|code|math)\b{_REST}>.*?</(?P=code)"
    rf"|(?P<url>a)\b(?={_REST}>(?:https?:/|www\.)[^<]*</a>){_REST}"
    rf"|(?P<open>{_BLOCK})\b{_REST}|/(?P<close>{_BLOCK})|{_REST})>"
    r"|&[a-zA-Z0-9#]{1,9};|(?:https?:/|www\.|@)[^\s<]++"
    rf"|(?P<rtl>{_RTL}[^<]*+)|(?P<ltr>(?:\u200e|[^\W\d_])[^<]*+)",
    re.DOTALL,
).finditer


def mark(html: str) -> str:
    """Return `html` with ``dir`` at blocks, code and bare URLs if a letter is right to left.

    Its elements are nested as they should be. What has a `dir` keeps it. Blocks without letters
    are as what is around them, and paragraphs as the text before them.
    """
    if " dir=" not in html and (html.isascii() or not _HAS_SOME(html)):
        return html
    marks: list[tuple[int, str]] = []
    undecided: list[int] = []  # behind the names of open blocks; -1: with a `dir`
    direction = ""
    for part in _PARTS(html):
        kind = part.lastgroup
        if kind in ("rtl", "ltr"):
            direction = kind
            marks += [(at, kind) for at in undecided if at >= 0]
            undecided.clear()
        elif kind == "close":
            at = undecided.pop() if undecided else -1
            if at >= 0 and direction and part["close"] == "p":
                marks.append((at, direction))
        elif kind:
            at = part.end(kind)
            has_one = " dir=" in html[at : html.index(">", at)]
            if kind == "open":
                undecided.append(-1 if has_one else at)
            elif not has_one:
                marks.append((at, "ltr"))
    pieces, end = [], 0
    for at, said in sorted(marks):
        pieces += [html[end:at], f' dir="{said}"']
        end = at
    return "".join([*pieces, html[end:]])
