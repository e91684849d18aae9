"""Formulas become MathML, or stay as typed."""

import re
import subprocess
import sys

import pytest

from commentsvc.markup.formulas import LENGTH
from commentsvc.markup.markdown import render

FRACTION = "<mfrac><mn>1</mn><mn>2</mn></mfrac></math>"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"$\frac12$", rf'<p><math alttext="\frac12">{FRACTION}</p>'),
        (r"$`\frac12`$", rf'<p><math alttext="\frac12">{FRACTION}</p>'),
        (r"$$\frac12$$", rf'<p><math alttext="\frac12" display="block">{FRACTION}</p>'),
        ("```math\n\\frac12\n```", rf'<p><math alttext="\frac12" display="block">{FRACTION}</p>'),
        ("$x < y$", '<math alttext="x &lt; y"><mi>x</mi><mo>&lt;</mo><mi>y</mi></math>'),
        (r"$\unknown$ `$x$`", r"<p><code>\unknown</code> <code>$x$</code></p>"),
        ("```math\n\\unknown\n```", r"<pre><code>\unknown</code></pre>"),
        ("from $5 to $6", "<p>from $5 to $6</p>"),
        (f"${'x' * (LENGTH + 1)}$", f"<code>{'x' * (LENGTH + 1)}</code>"),
    ],
)
def test_a_formula_becomes_mathml_or_stays_as_typed(source: str, expected: str) -> None:
    assert expected in render(source, math=True)


def test_formulas_beyond_the_room_of_a_comment_stay_as_typed() -> None:
    html = render("$a+b+c+d+e+f$ " * 200, math=True)
    assert html.count("<math") > 10
    assert html.count("<math") + html.count("<code>a+b+c+d+e+f</code>") == 200


# Renders, on a small stack, formulas that make parsers recurse deeply or backtrack.
HOSTILE = r"""
import sys, threading
from commentsvc.markup.formulas import LENGTH
from commentsvc.markup.markdown import render
def work():
    for part in sys.argv[1:]:
        render("$$" + (part * LENGTH)[:LENGTH] + "$$", math=True)
    print("done")
threading.stack_size(1024 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
_PARTS = r"""
( [ { x^{ _{ [( \left( \left[ \big( \sqrt \sqrt[ \frac \hat \not \text{ \overset{ \bm{ \mathbb{
\begin{matrix} \genfrac(){ \newcommand\a{\a\a}\a \newcommand\a{{{{{\a}}}}}\a
"""
PARTS = _PARTS.split()


def test_no_formula_takes_the_stack_or_the_time_of_the_process() -> None:
    """math-core 0.9.0 takes years for 500 brackets, and a deep recursion would end the process."""
    command = [sys.executable, "-c", HOSTILE, *PARTS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert not re.search("Traceback", done.stderr)
