"""Digests of texts (BLAKE2b, RFC 7693), each made for one purpose."""

from hashlib import blake2b


def digest(text: str | bytes, purpose: bytes = b"", size: int = 32) -> bytes:
    """Return the digest of a text in `size` bytes; that for another purpose is unlike it.

    A purpose has at most 16 bytes. Raise UnicodeEncodeError for a text that is not Unicode.
    """
    data = text.encode() if isinstance(text, str) else text
    return blake2b(data, digest_size=size, person=purpose).digest()
