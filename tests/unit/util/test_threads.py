"""A mebibyte of anything costs a reader of foreign bytes less than a tenth of a second.

Each reader gets it bare, and where it is worst: in an attribute, a tag, a text that is shown.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from commentsvc.markup.foreign_html import UnreadablePage
from commentsvc.mentions import html_page, page_posts
from commentsvc.util.http_client import Fetched, RemoteError, StrangerClient
from commentsvc.util.polite_client import PoliteClient
from commentsvc.util.threads import ACCOUNTS, FOREIGN, RENDERING, run_in
from tests.unit.processor_time import quickest
from tests.unit.settable_clock import SettableClock

MEBIBYTE = 1 << 20
MOST = 0.1  # seconds of CPU time
# Letters and digits are alike.
CHARACTERS = [c for c in map(chr, range(128)) if not c.isalnum() or c in "aAzZxX09"]
CHARACTERS += "\x80\x85\xa0©»é\u0301漢\u202e\u2028\ufeff😀"
PIECES = """
    <a &a <! <!-- <![CDATA[ &# &#x &#0; &lt; &nbsp; &amp; "=' ='" </ <? <a/ <a> </a> <p> <br> <svg>
    <table> <template> <style> <script> <title> [" {"a":{ ,[ \" <!DOCTYPE &a; http://a ](
""".split()  # noqa: SIM905 - as a list it is one long line
TARGET = "https://blog.example/post/"
LINK = f'<a href="{TARGET}" class="u-in-reply-to">x</a>'


def page(text: str, type: str = "text/html", **headers: str) -> Fetched:
    fields = {"content-type": type, **headers}
    return Fetched(200, type, text.encode(), tuple(fields.items()), "https://a.example/")


def mention(text: str, type: str = "text/html") -> None:
    html_page.mention(page(text, type), TARGET.__eq__)


def with_answer(body: str, read: Callable[[PoliteClient], object]) -> None:
    """Read an answer of another server through the client for these."""

    class Answering(StrangerClient):
        async def fetch(self, *_: object) -> Fetched:
            return page(body)

    client = PoliteClient(Answering(), SettableClock(0, 0))
    asyncio.run(read(client))  # type: ignore[arg-type]  # a coroutine of either kind


def robots(text: str) -> None:
    with_answer(text, lambda client: client.fetch("https://a.example/x", "text/html", MEBIBYTE))


READERS: dict[str, Callable[[str], object]] = {
    "a page": mention,
    "a page with a link": lambda text: mention(LINK + text),
    "an entry": lambda text: mention(f'<div class="h-entry">{LINK}<p class="e-content">{text}'),
    "a name": lambda text: mention(f'<div class="h-entry h-card">{LINK}<p class="p-name">{text}'),
    "an attribute": lambda text: mention(f'{LINK}<a class="{text}">x</a>'),
    "a tag": lambda text: mention(f"{LINK}<a {text}>x</a>"),
    "an entry of a usual size": lambda text: mention(f'<div class="h-entry">{LINK}{text[:20_000]}'),
    "plain text": lambda text: mention(text, "text/plain"),
    "JSON": lambda text: mention(text, "application/json"),
    "a string in JSON": lambda text: mention(f'["{text}"]', "application/json"),
    "a page with an endpoint": lambda text: html_page.endpoint(page(text)),
    "a Link field": lambda text: html_page.endpoint(page("", link=text[:100_000])),
    "a page of the blog": page_posts.named_posts,
    "robots.txt": lambda text: robots(text[: MEBIBYTE // 2]),
    "a rule": lambda text: robots(f"User-agent: *\nDisallow: {text}"[: MEBIBYTE // 2]),
}
SHORT = {"an entry of a usual size"}


def cost(read: Callable[[str], object], text: str) -> float:
    """Return the seconds of CPU time that reading takes; see `quickest`."""

    def work() -> None:
        with suppress(UnreadablePage, RemoteError):
            read(text)

    return quickest(work, MOST * 1_000)[0] / 1_000


@pytest.mark.parametrize("name", READERS)
def test_a_mebibyte_of_one_character_or_piece_takes_less_than_100_ms(name: str) -> None:
    read = READERS[name]
    pieces = CHARACTERS if name in SHORT else [*CHARACTERS, *PIECES]
    slow = {}
    for piece in pieces:
        text = piece * (MEBIBYTE // len(piece.encode()))
        if (took := cost(read, text)) > MOST:
            slow[piece] = round(took, 3)
    assert not slow


def test_what_is_escaped_before_a_long_text_takes_less_than_100_ms() -> None:
    slow = {}
    for sign in ("&", "&amp;", "&copy;", "©", "\x9c"):
        for number in (1_000, 3_000, 10_000, 20_000):
            text = sign * number
            text += "a" * (MEBIBYTE - len(text.encode()))
            if (took := cost(mention, LINK + text)) > MOST:
                slow[sign, number] = round(took, 3)
    assert not slow


def test_a_usual_page_with_many_such_characters_is_read() -> None:
    html_page.mention(
        page(LINK + "<p>« Oui », dit-il\xa0: «\xadnon\xad». & © 2026</p>" * 900), bool
    )


HTML = ("a page", "a page with a link", "an entry", "a page of the blog", "a page with an endpoint")
TAGS = """
    <p> <a> <b> <div> <li> <dd> <table> <h1> <nobr> <span> <svg> <select> <option> <tr> </p> </br>
    <p></p> <a></a> <i><p> <p><a> <b><p> <p><i></p> <a><div> <b><div></b> </i><i><p> <ul><li> <br>
    <i></b><p> <table><tr><td> <div></div> <p>a <img> <form> <button> <section>
""".split()  # noqa: SIM905 - as above
# Distinct attributes make elements of which each one is opened anew in each block.
OPENED = "".join(f"<i class=a{number}>" for number in range(90))


@pytest.mark.parametrize("name", HTML)
def test_as_many_tags_as_are_read_take_less_than_100_ms(name: str) -> None:
    """A mebibyte of tags is refused at once; fewer have to be read as quickly."""
    slow = {}
    for size in (20_000, 40_000, 80_000):
        for piece in TAGS:
            for before in ("", OPENED):
                text = before + piece * (size // len(piece))
                if (took := cost(READERS[name], text)) > MOST:
                    slow[before[:2], piece, size] = round(took, 3)
    assert slow == {}


def test_pages_of_strangers_hold_up_neither_previews_nor_passwords() -> None:
    """Regression: eight webmentions held all threads, and signing in waited for a minute."""

    async def story() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        wait = asyncio.run_coroutine_threadsafe

        def hang() -> None:
            wait(_set(ended), loop).result()

        hanging = [asyncio.ensure_future(run_in(FOREIGN, hang)) for _ in range(50)]
        await asyncio.sleep(0)
        try:
            for threads in (RENDERING, ACCOUNTS):
                assert await asyncio.wait_for(run_in(threads, sum, (1, 2)), 120) == 3
        finally:
            ended.set()
        await asyncio.gather(*hanging)

    asyncio.run(story())


async def _set(ended: asyncio.Event) -> None:
    await ended.wait()
