"""Stylesheets of others: those that npm has, and Hugo themes made again.

No registry has Hugo's themes. So these have the same selectors, specificity and colours where they
concern a widget: what resets, sizes and paints elements.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.widget.test_themes import THEMES as KNOWN

# Files below node_modules; "light" and "dark" are set on the page as each of them expects it.
NPM: Final = (
    "milligram/dist/milligram.css",
    "sakura.css/css/sakura.css",
    "sakura.css/css/sakura-dark.css",
    "@picocss/pico/css/pico.css",
    "@picocss/pico/css/pico.classless.css",
    "pico1/css/pico.css",
    "@exampledev/new.css/new.css",
    "simpledotcss/simple.css",
    "water.css/out/water.css",
    "water.css/out/light.css",
    "water.css/out/dark.css",
    "@lowlighter/matcha/dist/matcha.css",
    "chota/dist/chota.css",
    "awsm.css/dist/awsm.css",
    "awsm.css/dist/awsm_theme_black.css",
    "mvp.css/mvp.css",
    "foundation-sites/dist/css/foundation.css",
    "bootstrap/dist/css/bootstrap.css",
    "bulma/css/bulma.css",
    "tailwindcss/preflight.css",
    "concrete.css/concrete.css",
    "magick.css/magick.css",
    "holiday.css/dist/holiday.css",
    "marx-css/css/marx.css",
    "bamboo.css/dist/bamboo.min.css",
    "picnic/picnic.min.css",
    "skeleton-css/css/skeleton.css",
    "tacit-css/dist/tacit-css-1.9.7.css",
    "terminal.css/dist/terminal.css",
    "nes.css/css/nes.css",
    "98.css/dist/98.css",
)

# As a build without cascade layers rewrites Tailwind's: each rule has the specificity of ids.
PAPER: Final = """
  *:not(#x):not(#x), :not(#x)::before, :not(#x)::after {
    margin: 0; padding: 0; border: 0 solid; box-sizing: border-box }
  h1:not(#x):not(#x), h2:not(#x):not(#x), h3:not(#x):not(#x) { font-size: inherit;
    font-weight: inherit }
  ol:not(#x):not(#x), ul:not(#x):not(#x) { list-style: none }
  svg:not(#x):not(#x), img:not(#x):not(#x) { display: block; vertical-align: middle }
  button:not(#x):not(#x), input:not(#x):not(#x), select:not(#x):not(#x), textarea:not(#x):not(#x) {
    font: inherit; letter-spacing: inherit; color: inherit; border-radius: 0; opacity: 1;
    background-color: transparent }
  article:not(#x):not(#x):not(#x):not(#x):not(#x) { font-size: 1.125rem; line-height: 1.8;
    color: #000 }
  .dark article:not(#x):not(#x):not(#x):not(#x):not(#x) { color: #fff }
  body { background: #fffdfa }
  .dark body::before { content: ""; position: fixed; inset: 0; z-index: -1;
    background: rgb(0 0 0 / 85%) }
  .content:not(#x):not(#x) :where(p) { margin: 1.25em 0 }
  .content:not(#x):not(#x) :where(li) { margin: 0.5em 0 }
  .content:not(#x):not(#x) :where(a) { color: inherit; text-decoration: underline }
"""
MAINROAD: Final = """
  *, ::before, ::after { box-sizing: border-box }
  html { font-size: 16px }
  body { margin: 0; background: #f7f7f7; color: #000; font: 400 1rem/1.5 sans-serif }
  h1, h2, h3 { margin: 0 0 1.25rem; color: #000; font-weight: 700; line-height: 1.3 }
  ul, ol { margin: 0; padding: 0 }
  .content ol { list-style: decimal }
  .content ul, .content ol { margin: 0 0 20px 40px }
  .content li { margin-bottom: 5px }
  .content time, .content a { color: #e22d30; font-weight: 700 }
  .content a:hover { color: #e22d30; text-decoration: underline }
  button, input, optgroup, select, textarea { margin: 0; font: inherit; line-height: inherit }
  input { padding: 5px; border: 1px solid #ebebeb; background: #f5f5f5; font-size: 12px }
  input[type="text"], input[type="email"], input[type="tel"], input[type="url"] { width: 60% }
  input[type="text"]:hover, input[type="email"]:hover, textarea:hover { border: 1px solid #aaa }
  textarea { width: 96%; padding: 5px; border: 1px solid rgb(0 0 0 / 10%); background: #f5f5f5 }
"""
TERMINAL: Final = """
  html { box-sizing: border-box }
  *, ::before, ::after { box-sizing: inherit; word-break: break-word }
  body { margin: 0; background: #1a170f; color: #eceae5; font: 1rem/1.54em monospace }
  h1, h2, h3, p, ul, ol, img, table { margin: 25px 0 }
  main > * { margin-top: 0 }
  a { color: #eec35e }
  ul { padding-left: 22px; list-style: none }
  ul li { position: relative }
  ul li:not(:empty)::before { content: "-"; position: absolute; left: -20px; color: #eec35e }
  button { position: relative; padding: 5px 18px; border: 4px solid #eec35e; background: none;
    color: #eec35e; font: inherit; font-weight: 700; appearance: none; outline: none }
  button:hover { background: rgb(238 195 94 / 15%) }
  label input { margin-top: 0 }
  input, textarea, select { padding: 10px; border: 1px solid #eceae5; border-radius: 0;
    background: none; color: #eceae5; font: inherit; appearance: none }
  input:focus, textarea:focus, select:focus { outline: 1px solid #eec35e }
  .content button, .content a.button { display: inline-flex; padding: 8px 18px }
"""
LOVEIT: Final = """
  html { font: 400 16px system-ui; line-height: 1.5rem }
  body { margin: 0; background: #fff; color: #161209 }
  body.dark { background: #292a2d; color: #a9a9b3 }
  a, a:active, a:hover { color: #161209; text-decoration: none }
  .dark a, .dark a:active { color: #a9a9b3 }
  .dark a:hover { color: #fff }
  .content a { color: #2d96bd; word-break: break-all }
  .dark .content a { color: #55bde2 }
  .content a:hover { color: #ef3982 }
  .dark .content time { color: #5d5d5f }
  .content ul, .content ol { padding-left: 2rem }
  .content h2, .content h3 { margin: 1.2rem 0; font-size: 1.5rem; line-height: 1.2 }
  .content h2::before { content: "#"; margin-right: 0.3125rem; color: #2d96bd }
  .content blockquote { margin: 1rem 0; border-left: 0.5rem solid #6bd6fd; background: #6bd6fd33 }
"""
BOOK: Final = """
  html { font-size: 16px; scroll-behavior: smooth }
  body { margin: 0; background: #fff; color: #000; font: 400 1rem/1.5 sans-serif }
  body.dark { background: #343a40; color: #e9ecef }
  *, ::before, ::after { box-sizing: inherit }
  button, input, optgroup, select, textarea { margin: 0; font: 100%/1.15 inherit }
  h1, h2, h3 { font-weight: inherit }
  :focus-visible { outline: auto #05b }
  .content { line-height: 1.6 }
  .content > :first-child { margin-top: 0 }
  .content :is(h1, h2, h3) { margin-top: 1.5em; margin-bottom: 1rem; font-weight: normal;
    line-height: 1 }
  .content :is(b, strong) { font-weight: bolder }
  .content a { color: #05b; text-decoration: none }
  .dark .content a { color: #84b2ff }
  .content a:hover { text-decoration: underline }
  .content :is(ul, ol) { padding-left: 2rem; word-wrap: break-word }
  .content details { margin: 1rem 0; padding: 1rem; border: 1px solid #e9ecef;
    border-radius: 0.25rem }
  .content details summary { margin: -1rem; padding: 1rem; line-height: 1; cursor: pointer }
  .content details[open] summary { margin-bottom: 0 }
  .content img { max-width: 100%; height: auto }
"""
HEXTRA: Final = """
  @layer base {
    *, ::before, ::after { margin: 0; padding: 0; border: 0 solid; box-sizing: border-box }
    button, input, select, textarea { border-radius: 0; background: none; color: inherit;
    font: inherit }
    ol, ul { list-style: none }
    a { color: inherit; text-decoration: inherit }
    svg, img { display: block; vertical-align: middle }
    h1, h2, h3 { font-size: inherit; font-weight: inherit }
  }
  html { font-size: 16px; line-height: 1.5 }
  body { background: #fff; color: #0f172a }
  .dark body { background: #111; color: #e5e7eb }
  .content :where(h2):not(:where(.plain *)) { margin-top: 2.5rem; padding-bottom: 0.25rem;
    border-bottom: 1px solid #e5e5e5b3; font-size: 1.875rem; line-height: 2.25rem;
    font-weight: 600 }
  .content :where(p):not(:where(.plain *)) { margin-top: 1.5rem; line-height: 1.75rem }
  .content :where(ul):not(:where(.plain *)) { margin: 1.5rem 0 0 1.5rem; list-style: disc }
  .content :where(a):not(:where(.plain *)) { color: #0369a1; text-decoration: underline }
  .content details summary::before { content: "x"; position: absolute; width: 1em }
"""
CODER: Final = """
  *, ::after, ::before { box-sizing: inherit }
  html { box-sizing: border-box; font-size: 62.5%; line-height: 1.15 }
  body { margin: 0; background: #fafafa; color: #212121; font: 400 1.8rem/1.8em sans-serif }
  body.colorscheme-dark { background: #212121; color: #dadada }
  a { color: #1565c0; font-weight: 500; text-decoration: none; transition: all 0.25s ease-in }
  body.colorscheme-dark a { color: #42a5f5 }
  a:focus, a:hover { text-decoration: underline }
  p { margin: 2rem 0 }
  h1, h2, h3 { margin: 4rem 0 2.5rem; color: #000; font-weight: 600; line-height: normal }
  body.colorscheme-dark :is(h1, h2, h3) { color: #dadada }
  ol, ul { padding-left: 3rem }
  button, input, select, textarea { margin: 0; font: inherit; font-size: 100%; line-height: 1.15 }
  blockquote { margin: 2rem 0; padding-left: 2rem; border-left: 2px solid #e0e0e0 }
  time { color: #9e9e9e }
"""
# What no theme does all at once.
HOSTILE: Final = """
  * { margin: 0; padding: 0; line-height: 1; letter-spacing: 0.05em }
  :root { --accent: red }
  button, input, select, textarea { width: 55% !important; height: 12px; padding: 2px !important;
    border: 0 !important; background: #fff !important; color: #fff !important;
    opacity: 0.3 !important;
    box-shadow: inset 0 0 9em #fff !important; appearance: none !important }
  button:not([class*="y"]):not([x]):hover { margin-top: 4px !important; background: #000 !important;
    color: #000 !important; transform: translateY(3px) !important }
  button:active, input:active { transform: scale(0.9) }
  [type="checkbox"], [type="radio"] { position: absolute !important; opacity: 0;
    pointer-events: none }
  section, article { padding: 2em; border: 3px solid #eee }
  form > *, details, label, li { display: inline; float: left; padding: 2em; border: 3px solid #eee;
    background: #eee; color: #ddd }
  a:not([class]):hover, a:hover:not(.x) { padding: 3px; border: 2px solid; background: #333;
    color: #444 }
  svg, svg path { display: block; width: 100%; fill: #eee; stroke: #eee }
  time, small, h2, h3 { color: #eee; font-size: 8px }
  li::before, summary::after, button::before { content: "x" }
  li::marker { content: "x" }
  :focus-visible { outline: 0 !important }
  ::placeholder { color: #eee !important; opacity: 0.1 }
  [hidden] { display: block }
"""

MADE: Final = {
    "Paper": PAPER,
    "Mainroad": MAINROAD,
    "Terminal": TERMINAL,
    "LoveIt": LOVEIT,
    "hugo-book": BOOK,
    "Hextra": HEXTRA,
    "Coder": CODER,
    "everything at once": HOSTILE,
    **{name: css for name, (css, _) in KNOWN.items() if not name.startswith("Stack")},
    "Stack": KNOWN["Stack"][0]
    + "main { color: #000 } .dark main { color: rgb(255 255 255 / 90%) }",
}


@dataclass(frozen=True)
class Stylesheet:
    """One stylesheet and what it is called."""

    name: str
    text: str


def stylesheets(packages: Path) -> Iterator[Stylesheet]:
    """Yield all of them; `packages` is the folder node_modules."""
    for name in NPM:
        yield Stylesheet(name, (packages / name).read_text())
    for name, text in MADE.items():
        yield Stylesheet(name, text)
