"""Compression: stored answers get a variant with the content coding gzip, where that pays.

It is made once, when the answer is; the core keeps both variants and chooses by Accept-Encoding.
Only answers with tags are compressed. They are the same for everybody and hold no secret, so that
their length tells nothing (BREACH).
"""

import gzip
from typing import Final

from msgspec.structs import replace

from commentsvc.http.messages import Response

# Bytes; with its head a smaller body fits into one packet or two anyway.
SMALLEST: Final = 1_024
# The variant is kept if it has at most this part of the bytes.
GAIN: Final = 0.9
# Level 6 makes lists a tenth smaller, and takes more than twice as long.
LEVEL: Final = 1
BEST: Final = 9  # for what is made once and asked for often
_TEXTS: Final = ("text", "json", "xml")  # what is in the types of texts


def compressed(response: Response, level: int = LEVEL) -> Response:
    """Return `response` with its compressed variant, unless that does not pay or is there."""
    body = response.body
    if len(body) < SMALLEST or not response.tags or response.gzip or response.status != 200:
        return response
    media_type = next((value for name, value in response.headers if name == "Content-Type"), "")
    if not any(text in media_type for text in _TEXTS):
        return response
    coded = gzip.compress(body, level, mtime=0)  # the same bytes, and ETag, each time
    return replace(response, gzip=coded) if len(coded) <= GAIN * len(body) else response
