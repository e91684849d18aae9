"""The limits on votes and reactions from one network."""

import hashlib
from collections.abc import Callable
from typing import Final, NamedTuple

from commentsvc.context import ServiceContext
from commentsvc.feedback.votes import DIGEST, NETWORK_VOTES
from commentsvc.http.messages import Request, TrustedProxies, too_fast
from commentsvc.util.client_network import NetworkHashes, network_of, wide_network
from commentsvc.util.ratelimit import NetworkLimiter, RateLimiter

# The limit for an IPv6 /48, which contains 256 of our networks: three times that of one network.
WIDE_VOTES: Final = f"{3 * NETWORK_VOTES}/day"


class VoterNetwork(NamedTuple):
    """The network that a vote comes from, and the hashes that its votes may be stored with."""

    network: bytes
    hashes: tuple[bytes, ...]


class VoteLimit:
    """Limits votes per network, by the setting `spam.vote_limit`, and per subject and IPv6 /48."""

    def __init__(
        self, service: ServiceContext, what: str, refusal: Callable[[], Exception]
    ) -> None:
        """Take the name of what is limited, and the error for too many from a /48."""
        settings, lasting = service.settings, service.lasting
        self._limiter = lasting.get(what, NetworkLimiter, settings.spam.vote_limit)
        self._wide = lasting.get(f"wide {what}", RateLimiter, WIDE_VOTES)
        self._hashes = NetworkHashes(service.keys[0], settings.privacy.keep_network_days)
        self._proxies = TrustedProxies(settings.server.trusted_proxies)
        self._clock = service.clock
        self._refusal = refusal

    def network(self, request: Request) -> VoterNetwork:
        """Return the network that a request comes from."""
        network = network_of(self._proxies.client(request))
        return VoterNetwork(network, self._hashes.hashes(network, self._clock.now_ms()))

    def admit(self, request: Request, subject: bytes) -> VoterNetwork:
        """Count a vote on `subject`. Raise HttpError 429, or `refusal` for too many from a /48."""
        voter = self.network(request)
        network = voter.network
        wait = self._limiter.take(network, self._clock.monotonic_ms())
        if wait:
            raise too_fast(wait)
        wide = wide_network(network)
        if wide != network:
            # A digest, since the address of a page may be long, and many are remembered.
            key = hashlib.blake2b(subject, digest_size=DIGEST, salt=wide).digest()
            if self._wide.take(key, self._clock.monotonic_ms()):
                raise self._refusal()
        return voter
