"""Which answers get a compressed variant."""

import gzip
import os

import brotli
import pytest

from commentsvc.http.compression import LARGE, SMALLEST, compressed
from commentsvc.http.messages import Headers, Response

JSON: Headers = (("Content-Type", "application/json"), ("Cache-Control", "no-cache"))
BODY = b"a comment" * 200


def test_a_long_text_is_compressed_in_the_same_way_each_time() -> None:
    answer = compressed(Response(200, JSON, BODY, ("a",)))
    assert gzip.decompress(answer.gzip) == answer.body == BODY
    assert brotli.decompress(answer.brotli) == BODY
    assert answer == compressed(Response(200, JSON, BODY, ("a",)))
    assert compressed(answer, best=True) is answer


def test_files_are_compressed_best_and_large_answers_fast() -> None:
    words = b" ".join(b"%d" % (number * number) for number in range(12_000))
    lengths = {}
    for name, body in (("large", words), ("usual", words[:LARGE])):
        for best in (False, True):
            answer = compressed(Response(200, JSON, body, ("a",)), best=best)
            assert brotli.decompress(answer.brotli) == body
            assert len(answer.brotli) < len(answer.gzip)
            lengths[name, best] = len(answer.brotli) / len(body)
    assert lengths["usual", True] < lengths["usual", False]
    assert lengths["large", False] > 1.1 * lengths["large", True]


@pytest.mark.parametrize(
    "answer",
    [
        Response(200, JSON, b"a" * (SMALLEST - 1), ("a",)),
        Response(200, JSON, BODY),
        Response(404, JSON, BODY, ("a",)),
        Response(200, (("Content-Type", "image/png"),), BODY, ("a",)),
        Response(200, (), BODY, ("a",)),
        Response(200, JSON, os.urandom(SMALLEST), ("a",)),
    ],
    ids=["short", "not stored", "not 200", "no text", "no type", "no gain"],
)
def test_where_it_does_not_pay_or_might_tell_a_secret_nothing_is_compressed(
    answer: Response,
) -> None:
    answer = compressed(answer)
    assert (answer.gzip, answer.brotli) == (b"", b"")


@pytest.mark.parametrize(
    "media_type",
    ["text/css; charset=utf-8", "text/html", "application/atom+xml", "application/feed+json"],
)
def test_texts_are_compressed(media_type: str) -> None:
    answer = compressed(Response(200, (("Content-Type", media_type),), BODY, ("a",)))
    assert answer.gzip
    assert answer.brotli
