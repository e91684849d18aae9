"""A judge of JSON-LD: a processor, the vocabulary of schema.org, and what Google requires.

`comments/schema_org.json` has the part of release 30.0 (https://schema.org/docs/developers.html,
CC BY-SA 3.0) that is about articles, comments and persons: the terms of the context, the classes
with those above them, and the classes and values that each property is for.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyld import jsonld

VOCABULARY = json.loads((Path(__file__).parent / "comments/schema_org.json").read_text())
CLASSES: dict[str, list[str]] = VOCABULARY["classes"]
PROPERTIES: dict[str, dict[str, list[str]]] = VOCABULARY["properties"]
SCHEMA = "http://schema.org/"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)").fullmatch

Node = dict[str, Any]  # Any: expanded JSON-LD


class Blocks(HTMLParser):
    """The JSON-LD of a page, as a browser finds it, and the other scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.others: list[dict[str, str | None]] = []
        self._is_inside = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self._is_inside = dict(attrs).get("type") == "application/ld+json"
            if self._is_inside:
                self.found.append("")
            else:
                self.others.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.found[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = self._is_inside and tag != "script"


def described(html: str, base: str = "") -> Node:
    """Return the only JSON-LD of a page, which must be valid."""
    [text] = Blocks(html).found
    document: Node = json.loads(text)
    judge(document, base)
    return document


def judge(document: Node, base: str = "") -> None:
    """Fail unless a document is valid JSON-LD, and has what Google requires."""
    [node] = jsonld.expand(document, {"documentLoader": _load, "base": base})
    _judge_node(node)
    _judge_required(document)


def _load(url: str, _options: object) -> dict[str, object]:
    assert url.rstrip("/") == "https://schema.org", "nothing else is loaded"
    context = {"@context": VOCABULARY["@context"] | {"@vocab": SCHEMA}}
    return {"contextUrl": None, "documentUrl": url, "document": context}


def _above(name: str) -> set[str]:
    return {name}.union(*(_above(each) for each in CLASSES.get(name, ())))


def _judge_node(node: Node) -> None:
    [kind] = node["@type"]
    name = kind.removeprefix(SCHEMA)
    assert name in CLASSES, kind
    if "@id" in node:
        assert urlsplit(node["@id"]).scheme in ("http", "https"), node["@id"]
    for term, values in node.items():
        if term.startswith("@"):
            continue
        known = PROPERTIES[term.removeprefix(SCHEMA)]
        assert _above(name) & {*known["of"]}, f"{term} is not for {name}"
        for value in values:
            if "@type" in value and "@value" not in value:
                assert _above(value["@type"][0].removeprefix(SCHEMA)) & {*known["values"]}, term
                _judge_node(value)
            elif "@id" in value:
                assert urlsplit(value["@id"]).scheme in ("http", "https"), value
            else:
                assert isinstance(value["@value"], str | int), value
                assert value["@value"] != "", term


def _judge_required(document: Node) -> None:
    """See https://developers.google.com/search/docs/appearance/structured-data/discussion-forum."""
    assert document["@type"] == "Article", "a DiscussionForumPosting would need its author"
    assert document["commentCount"] >= len(document["comment"])
    _judge_numbers(document)
    for comment in every_comment(document):
        assert comment["@type"] == "Comment"
        assert comment["author"]["name"].strip()
        assert MOMENT(comment["datePublished"])
        assert MOMENT(comment.get("dateModified") or comment["datePublished"])
        assert comment.get("text") or comment.get("image")
        assert comment["url"].partition("#")[0] == document["url"]
        _judge_numbers(comment)


def _judge_numbers(node: Node) -> None:
    for number in node.get("interactionStatistic", ()):
        assert number["userInteractionCount"] > 0
        assert number["interactionType"].removeprefix("https://schema.org/") in CLASSES


def every_comment(node: Node) -> list[Node]:
    """Return the comments below a node, each before its replies."""
    found = []
    for comment in node.get("comment", ()):
        found += [comment, *every_comment(comment)]
    return found
