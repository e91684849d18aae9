"""The blog of all scenarios: its pages, comments and readers.

Everything follows from fixed seeds, so that two runs request and store the same. Pages are ranked:
the page of rank r has a share of 1/r of the comments and of the readers (Zipf's law with exponent
1, close to what is observed of web pages: Breslau et al., INFOCOM 1999, found 0.64 to 0.83). A
smaller exponent would spread the requests further; 1,000 counts fit into the cache either way.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PAGES = 1_000
COMMENTS = 20_000

_AUTHORS = ("Ann", "Björn", "Chidi", "Dolores", "Eero", "Fatima", "Grzegorz", "Hye-jin", "Ines")
SENTENCES = (
    "Thank you for writing this down.",
    "I ran into the same thing last week, and it took me an evening to find out why.",
    "Does this still hold for the newest release?",
    "There is a small mistake in the *third* paragraph: the order of both calls is wrong.",
    "With `--verbose` it says more, but not enough.",
    "We measured it as well, and got nearly the same figures.",
    "See [the documentation](https://docs.example/guide) for the reason.",
    "On my machine the **second** way was faster by half.",
    "It would be nice to read more about how you test this.",
    "I do not agree, since a cache would hide the fault instead of mending it.",
    "Häufig liegt es an der Zeitzone des Servers.",
    "Great!",
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the blog, and how many approved comments it has in the seeded database."""

    url: str
    count: int


@dataclass(frozen=True, slots=True)
class Text:
    """A comment as a reader writes it."""

    author: str
    email: str
    message: str


def shares(total: int, ranks: int) -> list[int]:
    """Return `total` divided among `ranks` by Zipf's law, in whole numbers with the same sum."""
    weight = sum(1 / rank for rank in range(1, ranks + 1))
    exact = [total / rank / weight for rank in range(1, ranks + 1)]
    parts = [int(part) for part in exact]
    by_rest = sorted(range(ranks), key=lambda index: parts[index] - exact[index])
    for index in by_rest[: total - sum(parts)]:
        parts[index] += 1
    return parts


def pages(number: int = PAGES, comments: int = COMMENTS) -> list[Page]:
    """Return all pages, the most read one first."""
    counts = shares(comments, number)
    return [Page(f"/post/{rank}/", count) for rank, count in enumerate(counts, 1)]


def draw(count: int, ranks: int, seed: int) -> list[int]:
    """Return `count` random indices of ranks by Zipf's law."""
    weights = list(itertools.accumulate(1 / rank for rank in range(1, ranks + 1)))
    return random.Random(seed).choices(range(ranks), cum_weights=weights, k=count)


def visits(ranked: Sequence[Page]) -> list[Page]:
    """Return the pages of all comments in the order of writing, popular and rare ones mixed."""
    order = [page for page in ranked for _ in range(page.count)]
    random.Random(1).shuffle(order)
    return order


def texts(seed: int) -> Iterator[Text]:
    """Yield comments without end: one to five sentences of 190 characters on average."""
    source = random.Random(seed)
    while True:
        author = source.choice(_AUTHORS)
        message = " ".join(source.choices(SENTENCES, k=source.randint(1, 5)))
        yield Text(author, f"{author.lower()}@mail.example" if author.isascii() else "", message)
