"""The widget stays small: what a reader's browser fetches."""

import gzip

from tests.widget.browser import WIDGET

BUILT = WIDGET / "built.js"  # for pages into which a build has put their thread
CODE = [*sorted({*WIDGET.glob("*.js")} - {BUILT}), WIDGET / "comments.css"]
LANGUAGES = sorted(WIDGET.glob("lang/*.js"))
EVERYTHING = [*CODE, WIDGET / "lang/en.js"]


def compressed(content: bytes) -> int:
    return len(gzip.compress(content))


def test_everything_with_the_words_of_one_language_has_9_kib() -> None:
    """As one archive, in which what the files have in common counts once."""
    assert compressed(b"".join(file.read_bytes() for file in EVERYTHING)) <= 9 * 1024


def test_the_files_as_servers_send_them_have_10_5_kib() -> None:
    sizes = {file.name: compressed(file.read_bytes()) for file in EVERYTHING}
    assert sum(sizes.values()) <= 10.5 * 1024, sizes


def test_what_takes_a_built_thread_over_has_850_bytes() -> None:
    """It is loaded where there is one, and saves more: a comment has 500 bytes."""
    assert compressed(BUILT.read_bytes()) <= 850


def test_a_list_page_loads_700_bytes() -> None:
    count = (WIDGET / "count.js").read_bytes()
    assert compressed(count) <= 700
    assert b"import " not in count


def test_a_language_has_no_more_than_the_words_need() -> None:
    sizes = {file.name: compressed(file.read_bytes()) for file in LANGUAGES}
    assert max(sizes.values()) <= 1.25 * 1024, sizes
