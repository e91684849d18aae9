"""Client networks: the service stores a keyed hash of a client's network, never its address.

Limits and bans apply to networks: one person often has a whole IPv6 /56, and the customers of a
provider share an IPv4 /24. A comment is stored with a keyed hash of its network, 64 bits of
BLAKE2b (RFC 7693). It shows that two comments came from the same network, but says nothing to
somebody who has the database without the key. The key of the hash changes with each period, and
`moderation.retention` deletes a hash one period after it was made, so nobody is recognised for
longer than two periods. The keys are derived from the secret key: they need not be stored, and a
new secret key makes all older hashes useless.
"""

import hashlib
import socket
from functools import lru_cache
from typing import Final

from commentsvc.util.timestamps import DAY_MS

KNOWN: Final = 1_000  # networks, and hashes, that are cached
HASH_SIZE: Final = 8  # bytes: two of a million networks hardly ever have the same hash
PACKED_SIZE: Final = 7  # bytes of an IPv6 /56
_MAPPED: Final = bytes(10) + b"\xff\xff"  # ::ffff:0:0/96: IPv4-mapped addresses (RFC 4291)


@lru_cache(KNOWN)
def network_of(address: str) -> bytes:
    """Return the network of an IP address: its IPv4 /24 or IPv6 /56.

    Everything that is not an IP address, such as the ``""`` of a Unix socket, gives ``b""``.
    """
    try:
        if ":" not in address:
            return socket.inet_pton(socket.AF_INET, address)[:3]
        packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    except (OSError, ValueError):
        return b""
    return packed[12:15] if packed.startswith(_MAPPED) else packed[:PACKED_SIZE]


def wide_network(network: bytes) -> bytes:
    """Return the IPv6 /48 that holds `network`; all else, such as an IPv4 /24, is itself.

    Organisations, and customers of a hoster, get a /48, which holds 256 networks of the usual size.
    Limits that they must not multiply by 256 apply to the /48 as well.
    """
    return network[:6] if len(network) == PACKED_SIZE else network


class NetworkHashes:
    """Hashes networks with a key that changes every `days` days; with 0, it makes no hashes."""

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
        """Return the hashes of `network` that stored comments may have at the time `now_ms`."""
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
