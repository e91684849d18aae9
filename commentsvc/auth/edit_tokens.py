"""Edit tokens of authors, the words of their feeds, and the secret key that protects both.

A token is 128 random bits, given to an author once. The database has its BLAKE2b hash (RFC 7693)
with a key that is not in the database: somebody who reads a copy of the data learns no token, and
somebody who can write a row but does not know the key cannot make a matching one. The first key
signs; the others are former keys, accepted until their tokens have expired.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from commentsvc.settings import data_dir
from commentsvc.util.text import whole_number

# Bytes of a token: 128 bits cannot be guessed, and stay readable in a header.
TOKEN_SIZE: Final = 16
# Tokens whose random bits are drawn at once. `os.urandom` releases the GIL, and a busy event loop
# waits longer to get it back than all else about a token takes.
DRAWN: Final = 64
# Bytes of a new secret key, before base64: too many for any search.
KEY_SIZE: Final = 32
# Characters of a key: shorter ones were not made by us.
KEY_LENGTH: Final = 32
# Bytes of a token's hash.
HASH_SIZE: Final = 32
# Characters of a token: ours are shorter.
TOKEN_LENGTH: Final = 64


class KeyUnusable(Exception):
    """The secret key can neither be read nor made; the text says why and what to do."""


class EditTokens:
    """Makes and checks the tokens with which authors change their comments.

    One thread alone may make tokens, and no process with drawn bits may fork.
    """

    def __init__(self, keys: Sequence[bytes], random: Callable[[int], bytes] = os.urandom) -> None:
        self._hashers = [_hasher(key, b"edit token", HASH_SIZE) for key in keys]
        self._random = random
        self._drawn: list[bytes] = []

    def new_token(self) -> tuple[str, bytes]:
        """Return a token for the author, and its hash (32 bytes) for the database."""
        if not self._drawn:
            bits = self._random(DRAWN * TOKEN_SIZE)
            begins = range(0, len(bits), TOKEN_SIZE)
            self._drawn = [bits[begin : begin + TOKEN_SIZE] for begin in begins]
        token = self._drawn.pop().hex()
        return token, _keyed_digest(self._hashers[0], token.encode())

    def check(self, token: str, stored: bytes) -> bool:
        """Return whether `stored` is the hash of `token`, compared in constant time."""
        if len(token) > TOKEN_LENGTH:
            return False
        text = token.encode(errors="surrogatepass")
        fits = False
        for hasher in self._hashers:
            fits |= hmac.compare_digest(_keyed_digest(hasher, text), stored)
        return fits


class ReplyFeedWords:
    """Makes and reads the words in the addresses of the feeds of replies to a comment.

    A word contains the comment's id and a keyed digest of it, so nobody can guess one, and nothing
    needs to be stored.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._hashers = [_hasher(key, b"reply feed", TOKEN_SIZE) for key in keys]

    def make(self, comment_id: int) -> str:
        """Return the word for a comment."""
        return _feed_word(self._hashers[0], comment_id)

    def read(self, word: str) -> int | None:
        """Return the id of the comment whose feed has this word; None if it is not ours."""
        number = whole_number(word.partition("-")[0])
        if number is None:
            return None
        for hasher in self._hashers:
            ours = _feed_word(hasher, number)
            if hmac.compare_digest(ours.encode(), word.encode(errors="surrogatepass")):
                return number
        return None


def _feed_word(hasher: hashlib.blake2b, comment_id: int) -> str:
    return f"{comment_id}-{_keyed_digest(hasher, b'%d' % comment_id).hex()}"


def _hasher(key: bytes, purpose: bytes, size: int) -> hashlib.blake2b:
    """Return the hash object that `_keyed_digest` takes; its digests have `size` bytes."""
    # BLAKE2b takes keys of up to 64 bytes, operators may give longer ones.
    short = hashlib.blake2b(key, digest_size=HASH_SIZE).digest()
    return hashlib.blake2b(key=short, digest_size=size, person=purpose)


def _keyed_digest(hasher: hashlib.blake2b, text: bytes) -> bytes:
    """Return the digest of `text`; copying a hash object is faster than making one with a key."""
    own = hasher.copy()
    own.update(text)
    return own.digest()


def check_keys(path: Path, given: str) -> None:
    """Raise KeyUnusable if `load_keys` would, without making a key."""
    if given or path.exists():
        load_keys(path, given)


def load_keys(
    path: Path, given: str, random: Callable[[int], bytes] = os.urandom
) -> tuple[bytes, ...]:
    """Return the keys in `given`, separated by white space, else those in the file at `path`.

    If the file does not exist, it is made with a new key and mode 0600. Raise KeyUnusable.
    """
    try:
        text = given or (path.read_text("ascii") if path.exists() else _make(path, random))
    except OSError as error:
        raise KeyUnusable(
            f"{path} can neither be read nor created: {error.strerror}. "
            "Check the disk and the owner of the file."
        ) from error
    except UnicodeDecodeError as error:
        raise KeyUnusable(
            f"{path} contains no valid key. If you move it away, a new one is created."
        ) from error
    keys = tuple(key.encode() for key in text.split())
    if not keys or min(map(len, keys)) < KEY_LENGTH:
        raise KeyUnusable(
            f"{path} contains no valid key. If you move it away, a new one is created."
        )
    return keys


def _make(path: Path, random: Callable[[int], bytes]) -> str:
    """Write a new key completely or not at all, so that a crash leaves no part of one."""
    key = base64.urlsafe_b64encode(random(KEY_SIZE)).decode()
    unfinished = path.with_name(path.name + ".new")
    unfinished.unlink(missing_ok=True)
    data_dir.create_file(unfinished)
    with unfinished.open("w", encoding="ascii") as file:
        file.write(key + "\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    return key
