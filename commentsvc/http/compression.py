"""Compression: cached answers get a gzip variant, if it is enough smaller.

It is made once, together with the answer; the core keeps both variants and chooses by
Accept-Encoding. Only answers with tags are compressed. They are the same for everybody and contain
no secret that an attacker could guess from their length (BREACH).
"""

import gzip
from typing import Final

from msgspec.structs import replace

from commentsvc.http.messages import Response

# In bytes: with its head, a smaller body fits into one or two packets anyway.
SMALLEST: Final = 1_024
# The variant is kept if its length is at most this share of the body's.
GAIN: Final = 0.9
# Level 6 makes lists a tenth smaller, and takes more than twice as long.
LEVEL: Final = 1
BEST: Final = 9  # for files that are compressed once and sent often
_TEXTS: Final = ("text", "json", "xml")  # parts of the media types of texts


def compressed(response: Response, level: int = LEVEL) -> Response:
    """Return `response` with a gzip variant, if it has none and gains from one."""
    body = response.body
    if len(body) < SMALLEST or not response.tags or response.gzip or response.status != 200:
        return response
    media_type = next((value for name, value in response.headers if name == "Content-Type"), "")
    if not any(text in media_type for text in _TEXTS):
        return response
    coded = gzip.compress(body, level, mtime=0)  # the same bytes, and ETag, each time
    return replace(response, gzip=coded) if len(coded) <= GAIN * len(body) else response
