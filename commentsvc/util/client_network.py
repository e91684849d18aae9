"""Client networks: what we keep of an address, which is never the address.

One person has a whole IPv6 /56 and providers share an IPv4 /24, so limits and bans count
networks. A comment keeps a keyed hash of its network, 64 bits of BLAKE2b (RFC 7693): enough to see
that two comments came from one place, and nothing to somebody who has the database without the
key. The hash's key is another one in each period and hashes are forgotten a period after they were
made (see `moderation.retention`), so nobody is known again for longer than two periods. Periods are
made from the secret key: nothing has to be stored, and rotating that key parts all ties.
"""

import hashlib
import socket
from functools import lru_cache
from typing import Final

from commentsvc.util.timestamps import DAY_MS

KNOWN: Final = 1_000  # networks and hashes that need not be made again
HASH_SIZE: Final = 8  # bytes: among a million networks no two are taken for one
_MAPPED: Final = bytes(10) + b"\xff\xff"  # ::ffff:0:0/96: IPv4-mapped addresses (RFC 4291)


@lru_cache(KNOWN)
def network(address: str) -> bytes:
    """Return the network of an IP address: its IPv4 /24 or IPv6 /56.

    What is no address, as the ``""`` of a unix socket, is one network of its own, ``b""``.
    """
    try:
        if ":" not in address:
            return socket.inet_pton(socket.AF_INET, address)[:3]
        packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    except (OSError, ValueError):
        return b""
    return packed[12:15] if packed.startswith(_MAPPED) else packed[:7]


def wide_network(network: bytes) -> bytes:
    """Return the IPv6 /48 of a `network`, as an organisation may have; an IPv4 /24 is itself.

    It has 256 networks of the usual size, so what must not be multiplied is bounded by it too.
    """
    return network[:6]


class NetworkHashes:
    """Hashes networks by a key that changes every `days` days; with 0 there are no hashes."""

    def __init__(self, secret: bytes, days: int) -> None:
        self._secret = hashlib.blake2b(secret, person=b"network key").digest()
        self._period = days * DAY_MS
        self._known: dict[tuple[bytes, int], bytes] = {}

    def hash(self, network: bytes, now_ms: int) -> bytes | None:
        """Return the hash stored with a comment of `now_ms` (Unix ms); None if none is kept."""
        if not self._period or not network:
            return None
        return self._hash(network, now_ms // self._period)

    def hashes(self, network: bytes, now_ms: int) -> tuple[bytes, ...]:
        """Return every hash of `network` that a comment may still have at the moment `now_ms`."""
        if not self._period or not network:
            return ()
        period = now_ms // self._period
        return self._hash(network, period), self._hash(network, period - 1)

    def _hash(self, network: bytes, period: int) -> bytes:
        known = self._known.get((network, period))
        if known is None:
            key = hashlib.blake2b(b"%d" % period, key=self._secret, digest_size=32).digest()
            known = hashlib.blake2b(network, key=key, digest_size=HASH_SIZE).digest()
            if len(self._known) >= KNOWN:
                self._known.clear()
            self._known[network, period] = known
        return known
