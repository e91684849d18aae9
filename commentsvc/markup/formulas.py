"""Formulas: LaTeX in a comment becomes MathML Core, which browsers show without a script.

comrak finds the formulas (``$…$``, ``$$…$$``, ``$`…`$`` and code blocks of the language ``math``),
math-core converts them. A formula that it does not understand, that is too long, or that would make
the comment too large, is shown as typed, as code. MathML keeps its LaTeX in ``alttext``, for
programs that cannot show it.

The sanitizer allows only what math-core makes: elements of MathML Core, without styles, links, and
sizes that would reach into other comments.
"""

import re
from functools import cache
from html import unescape
from typing import Final

from math_core import LatexError, LatexToMathML

# Characters of a formula. math-core calls itself for each bracket: 8,000 overflow the stack, 500
# take half a MiB of it. It must not expand macros, since these could nest brackets more deeply.
LENGTH: Final = 500

_TAGS = (
    "math mi mn mo mtext mspace mrow mfrac msqrt mroot mstyle mpadded mphantom msub msup msubsup"
    " munder mover munderover mmultiscripts mprescripts mtable mtr mtd"
)
TAGS: Final = frozenset(_TAGS.split())
ATTRIBUTES: Final = {
    "math": {"display", "alttext"},
    "mi": {"mathvariant"},
    "mo": {
        "form", "fence", "largeop", "lspace", "maxsize", "minsize", "movablelimits", "rspace",
        "separator", "stretchy", "symmetric",
    },
    "mspace": {"width"},
    "mfrac": {"linethickness"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mover": {"accent"},
    "munder": {"accentunder"},
    "munderover": {"accent", "accentunder"},
    "mtable": {"displaystyle", "scriptlevel"},
}  # fmt: skip
_length, _switch = re.compile(r"0|-?[0-3](?:\.\d{1,4})?em|-?\.\d{1,4}em"), re.compile("true|false")
VALUES: Final = {
    "display": re.compile("block").fullmatch,
    "form": re.compile("prefix|infix|postfix").fullmatch,
    "mathvariant": re.compile("normal").fullmatch,
    "scriptlevel": re.compile("[0-3]").fullmatch,
    **dict.fromkeys(
        ("linethickness", "lspace", "maxsize", "minsize", "rspace", "width"), _length.fullmatch
    ),
    **dict.fromkeys(
        (
            "accent", "accentunder", "displaystyle", "fence", "largeop", "movablelimits",
            "separator", "stretchy", "symmetric",
        ),
        _switch.fullmatch,
    ),
}  # fmt: skip

_FORMULA: Final = re.compile(
    r'<(span|code) data-math-style="(inline|display)">([^<]*)</\1>'
    r'|<pre><code class="language-math" data-math-style="display">([^<]*)</code></pre>'
).sub


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML(max_expansions=0, fancy_error=False)


def convert(html: str, room: int) -> str:
    """Return comrak's HTML with formulas as MathML, which adds at most `room` bytes."""
    left = room

    def formula(match: re.Match[str]) -> str:
        nonlocal left
        is_block = match[2] != "inline"
        escaped = (match[3] if match[4] is None else match[4]).strip()
        mathml = _convert(escaped, is_block)
        left -= len(mathml.encode())
        if not mathml or left < 0:
            left += len(mathml.encode())
            return f"<pre><code>{escaped}</code></pre>" if match[4] else f"<code>{escaped}</code>"
        return f"<p>{mathml}</p>" if match[4] else mathml

    return _FORMULA(formula, html)


def _convert(escaped: str, is_block: bool) -> str:
    """Return the MathML of HTML-escaped LaTeX; "" if there is none."""
    latex = unescape(escaped)
    if len(latex) > LENGTH:
        return ""
    try:
        mathml = _converter().convert_with_local_state(latex, displaystyle=is_block)
    except LatexError:
        return ""
    return f'<math alttext="{escaped}"{mathml.removeprefix("<math")}'
