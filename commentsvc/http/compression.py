"""Compression: cached answers get variants in gzip and Brotli, where they are enough smaller.

They are made once, together with the answer; the core keeps all variants and chooses by
Accept-Encoding. Only answers with tags are compressed. They are the same for everybody and contain
no secret that an attacker could guess from their length (BREACH).
"""

import gzip
from typing import Final

import brotli
from msgspec.structs import replace

from commentsvc.http.messages import Response

# In bytes: below this, a variant saves less than its two lines of the head cost.
SMALLEST: Final = 512
# A variant is kept if its length is at most this share of the body's.
GAIN: Final = 0.9
# The same for a body of LARGEST bytes and more, so that the cache has room for all variants.
GAIN_LARGEST: Final = 0.33
LARGEST: Final = 262_144
# A list of 20 comments, 14 KB, has 3,592 bytes in gzip 1 (56 us), 3,352 in gzip 6 (170 us), 3,336
# in Brotli 2 (78 us), 3,022 in Brotli 5 (290 us), and the same in Brotli 9 (6,600 us).
GZIP: Final = 1
BROTLI: Final = 5
# Larger bodies get less, so that none keeps the event loop longer than a millisecond or two.
LARGE: Final = 32_768  # bytes
BROTLI_LARGE: Final = 2
# For files that are compressed once and sent often.
GZIP_BEST: Final = 9
BROTLI_BEST: Final = 11  # 28 ms for 13 KB
_TEXTS: Final = ("text", "json", "xml")  # parts of the media types of texts


def compressed(response: Response, *, best: bool = False) -> Response:
    """Return `response` with its compressed variants, if it has none and gains from them.

    `best` takes a hundred times as long, for a fifth fewer bytes.
    """
    body = response.body
    if len(body) < SMALLEST or not response.tags or response.gzip or response.status != 200:
        return response
    media_type = next((value for name, value in response.headers if name == "Content-Type"), "")
    if not any(text in media_type for text in _TEXTS):
        return response
    # The same bytes, and ETags, each time.
    zipped = gzip.compress(body, GZIP_BEST if best else GZIP, mtime=0)
    quality = BROTLI_BEST if best else BROTLI if len(body) <= LARGE else BROTLI_LARGE
    brief = brotli.compress(body, quality=quality)
    most = (GAIN if len(body) < LARGEST else GAIN_LARGEST) * len(body)
    return replace(
        response,
        gzip=zipped if len(zipped) <= most else b"",
        brotli=brief if len(brief) <= most else b"",
    )
