"""Which answers get a compressed variant."""

import gzip
import os

import pytest

from commentsvc.http.compression import BEST, SMALLEST, compressed
from commentsvc.http.messages import Headers, Response

JSON: Headers = (("Content-Type", "application/json"), ("Cache-Control", "no-cache"))
BODY = b"a comment" * 200


def test_a_long_text_is_compressed_in_the_same_way_each_time() -> None:
    answer = compressed(Response(200, JSON, BODY, ("a",)))
    assert gzip.decompress(answer.gzip) == answer.body == BODY
    assert answer == compressed(Response(200, JSON, BODY, ("a",)))
    assert compressed(answer, BEST) is answer


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
    assert compressed(answer).gzip == b""


@pytest.mark.parametrize(
    "media_type",
    ["text/css; charset=utf-8", "text/html", "application/atom+xml", "application/feed+json"],
)
def test_texts_are_compressed(media_type: str) -> None:
    assert compressed(Response(200, (("Content-Type", media_type),), BODY, ("a",))).gzip
