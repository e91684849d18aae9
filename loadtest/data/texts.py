"""Random texts of people and spammers, the same for the same seed.

Each text is a template with random words in its gaps, a sentence or two more, and for spam a link:
some 10^8 texts of each sort. To make the filter's work realistic, half of the spam contains a
sentence that people write too, a third has praise and a web site in place of commercial words, and
some people post links or write about money and pills. It stays synthetic: the figures show what the
spam checks do, not how clever the spammers of a certain year are.
"""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

from loadtest.data.blog import SENTENCES


class FormFields(NamedTuple):
    """The fields of a filled form."""

    author: str
    email: str
    site: str
    message: str


def _listed(text: str) -> list[str]:
    return text.split("|")


_NAMES: Final = _listed(
    "Ann|Bea|Carl|Dora|Emil|Fay|Gus|Hana|Ivo|Jan|Kim|Lea|Max|Nora|Olaf|Pia|Quinn|Rosa|Sam|Tom|Uma"
    "|Vera|Will|Xenia|Yan|Zoe|Anders|Bruno|Chidi|Dolores|Eero|Fatima|Greta|Henk|Ines|Jorge"
)
_TOPICS: Final = _listed(
    "the second example|the diagram|the part about caching|your recipe|the photographs|the old map"
    "|the chapter on tests|the detour over the pass|the table at the end|the comparison"
    "|the footnote|the bread|the route along the river|the script|the migration|the lens"
)
_LOCATIONS: Final = _listed(
    "on my laptop|at home|at work|with a class of mine|on an old phone|in our kitchen|last summer"
    "|on the train|with two friends|in the rain|on a small server|under Debian|with rye flour"
)
_FEELS: Final = _listed(
    "helped me a lot|made me laugh|is what I was looking for|confused me at first"
    "|could be a post of its own|is not quite right, I think|saved me an afternoon"
    "|works, but only the second time|reminds me of my grandmother|deserves more readers"
)
_ASKS: Final = _listed(
    "Did you try it with a newer version?|How long did that take you?|Where did you find it?"
    "|Would you do it again?|Is there a feed for this?|What does it cost these days?"
    "|May I translate it?|Which of both do you use now?|Do you have a photograph of that?"
)
_PEOPLE: Final = (
    "{topic} {feel}.",
    "I tried {topic} {place}, and it {feel}. {ask}",
    "Thank you! {topic} {feel}, and {topic} even more.",
    "{ask} I did it {place} and {topic} {feel}.",
    "We talked about {topic} {place}. {ask}",
    "Small mistake: {topic} says {number}, it should be {number}. Otherwise it {feel}.",
    "I paid {number} euros for mine, which was too much; {topic} {feel}.",
    "My doctor says pills are no answer to that, but {topic} {feel}.",
    "More on {topic}: https://{word}.example/{number}. It {feel}.",
)

_TRADES: Final = _listed(
    "casino bonus|payday loan|crypto signals|weight loss pills|replica watches|essay writing"
    "|SEO backlinks|forex robot|viagra online|betting tips|web traffic|hair growth serum"
    "|gift cards|dating site|roof repair|IPTV subscription|binary options|fake diploma"
)
_LURES: Final = _listed(
    "best price|100% guaranteed|no deposit|instant approval|limited offer|free trial|click here"
    "|order now|earn from home|special discount|trusted seller|worldwide delivery|act today"
)
_PRAISES: Final = _listed(
    "Hello, I do believe this is an excellent web site, I stumbledupon it and will come back."
    "|Great blog you have here! Keep up the fantastic work, I bookmarked your website."
    "|I simply wanted to thank you for such informative content material, awesome weblog."
    "|What a data of unambiguity and preserveness of valuable experience, superb post."
    "|Pretty nice post, I have really enjoyed browsing your blog posts, subscribe to your rss."
    "|Everything is very open with a really clear explanation, your site is very useful."
)
_SPAM: Final = (
    "{lure}! {trade} with {number}% off, {lure}: https://{domain}/{word}",
    "Looking for {trade}? We have {trade} and {trade}, {lure}. Visit {domain} https://{domain}/",
    "I earned ${number} with this {trade} in one week, {lure} [{trade}](https://{domain}/{word})",
    "{trade} {lure} {lure} {trade} https://{domain}/?id={number}",
    "Hi dear, do you need {trade}? {lure}, contact us on https://{domain} {lure}.",
    "{praise} {word} {word} {number}",
    "{praise} Also visit my page {trade} {number}.",
    "{praise} Feel free to surf to my web blog - {trade} {word}",
)
_TLDS: Final = ("top", "xyz", "icu", "click", "shop", "online")


def person(source: random.Random) -> FormFields:
    """Return a person's comment; half have an address, some a web site or one more sentence."""
    author = source.choice(_NAMES)
    text = _filled(source, source.choice(_PEOPLE))
    if source.random() < 0.3:
        text = f"{text} {source.choice(SENTENCES)}"
    mail = f"{author.lower()}{source.randrange(1_000)}@mail.example"
    site = f"https://{author.lower()}.example/" if source.random() < 0.1 else ""
    return FormFields(
        author, mail if source.random() < 0.5 else "", site, text[0].upper() + text[1:]
    )


def spammer(source: random.Random) -> FormFields:
    """Return a spammer's comment; every text, name and address is different."""
    text = _filled(source, source.choice(_SPAM))
    if source.random() < 0.5:
        parts = [text, source.choice(SENTENCES)]
        source.shuffle(parts)
        text = " ".join(parts)
    author = source.choice((source.choice(_NAMES), _word(source), source.choice(_TRADES)))
    mail = f"{_word(source)}{source.randrange(1_000)}@{source.choice(('mail', 'post'))}.example"
    return FormFields(author, mail, f"https://{_domain(source)}/", text)


def _filled(source: random.Random, template: str) -> str:
    """Return the template with random words in its gaps."""
    gaps: dict[str, Sequence[str]] = {
        "topic": _TOPICS,
        "place": _LOCATIONS,
        "feel": _FEELS,
        "ask": _ASKS,
        "trade": _TRADES,
        "lure": _LURES,
        "praise": _PRAISES,
    }
    pieces = template.replace("}", "{").split("{")
    for index in range(1, len(pieces), 2):
        gap = pieces[index]
        made = {"number": _number, "word": _word, "domain": _domain}.get(gap)
        pieces[index] = made(source) if made else source.choice(gaps[gap])
    return "".join(pieces)


def _number(source: random.Random) -> str:
    return str(source.randrange(2, 1_000))


def _word(source: random.Random) -> str:
    return "".join(source.choice("bdfgklmnprstvz") + source.choice("aeiou") for _ in range(3))


def _domain(source: random.Random) -> str:
    return f"{_word(source)}{source.choice(('', 'hub', 'best'))}.{source.choice(_TLDS)}"
