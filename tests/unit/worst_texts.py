"""Texts that make programs slow or answers long: a corpus for everything that reads stored texts.

`SOURCES` are messages of the largest size that is allowed by default. Each repeats something that a
parser has to look at again, that becomes longer when it is escaped, or that hides at the end of a
long beginning.
"""

from typing import Final

SIZE: Final = 8_000  # characters: comments.message_length


def _filled(part: str, begin: str = "", end: str = "") -> str:
    """Return a text of SIZE characters of `part`, between a beginning and an end."""
    room = SIZE - len(begin) - len(end)
    return begin + (part * (room // len(part) + 1))[:room] + end


_REFERENCE: Final = '[x]: /a "'  # a link reference definition: no HTML at all

SOURCES: Final = {
    "the links of the report": 'Nice post!\n\n[x]: /a "' + "](&" * 2_600 + '"',
    **{
        name: _filled(part)
        for name, part in {
            "links": "](",
            "links to definitions": "]:",
            "closing brackets": "]",
            "links and spaces": "] (",
            "nearly entities": "](&#",
            "entities": "](&#106;",
            "named entities": "](&Tab;",
            "letters by number": "](&#106;&#97;&#118;&#97;",
            "scripts": "](javascript:",
            "nearly scripts": "](javascript",
            "data": "](data:a",
            "invisible characters": "](\u200b\ufeff\xa0",
            "backslashes": "](\\",
            "tags": "<a",
            "whole tags": "<b>",
            "ends of tags": "</p>",
            "autolinks": "<https://a.example>",
            "nearly autolinks": "<https://",
            "comments": "<!--",
            "ampersands": "&",
            "escaped ampersands": "&amp;",
            "quotation marks": '"',
            "apostrophes": "'",
            "quotation marks and line ends": '"\n',
            "greater than": ">",
            "emphasis": "*a*",
            "nested emphasis": "*a **b ",
            "code": "`a` ",
            "code in lines": "`a`\n",
            "tags in code": "`<b>`",
            "backticks": "`",
            "backticks of all lengths": "".join("`" * n + " " for n in range(1, 120)),
            "lines": "a\n",
            "paragraphs": "a\n\n",
            "quotes": "> a\n\n",
            "list": "- a\n",
            "tasks": "- [x] a\n",
            "headings": "# a\n",
            "cells": "|a" * 50 + "|\n" + "|-" * 50 + "|\n" + "|b\n" * 50 + "\n",
            "footnotes": "[^1]",
            "formulas": "$\\frac{a}{b}$ ",
            "mentions": "@Ann ",
            "addresses": "a@b.co ",
            "web addresses": "www.a.co ",
            "links within the site": "[a](b) ",
            "capital web addresses": "Https://a.co。",
            "controls": "\x01",
            "form feeds": "a\x0c\x0b",
            "no-break spaces": "\xa0",
            "spaces": "a" + " " * 300,
            "tabs": "\t",
            "emoji": "😀",
            "joined emoji": "👩‍👩‍👧‍👦",
            "combining marks": "a" + "\u0301" * 40,
            "right to left": "\u202e",
            "Chinese": "中文字",
            "separators": "\u2028\u2029",
            "escapes": "\\*",
            "backslashes alone": "\\",
            "dollars": "$",
            "percent": "%s%(a)s{{a}}{%a%}",
            "random": "".join(chr(33 + n * n * 7_919 % 94) for n in range(SIZE)),
        }.items()
    },
    **{
        f"{name} in a definition": _filled(part, _REFERENCE, '"')
        for name, part in {
            "tags": "<a",
            "entities": "](&#106;",
            "scripts": "](javascript:",
            "backslashes": "\\\\",
            "line ends": "a\n",
        }.items()
    },
    "links within the site and tags": _filled("`<b>` ", "[a](/b) " * 200),
    "spaces before the end": _filled(" ", "](", "javascript:a)"),
    "zeros before the end": _filled("0", "](&#", "106;avascript:a)"),
    "an address without an end": _filled("x", "<https://"),
    "a tag without an end": _filled("a ", "<b "),
    "one word": _filled("x"),
}
