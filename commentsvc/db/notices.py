"""What the instances on one PostgreSQL tell each other, by NOTIFY; `cluster` explains the protocol.

PostgreSQL delivers a notification after the COMMIT of its transaction, in the order of the commits,
or not at all. Each is a JSON array on the channel `CHANNEL`, which all instances listen to; a
`SeenNotice` goes to the channel of one instance.
"""

from typing import Annotated, Final

import msgspec

from commentsvc.model import EVERY_TAG

CHANNEL: Final = "commentsvc"
# What PostgreSQL takes at most.
MOST_BYTES: Final = 7_999
# The identity of an instance, which is a part of the name of its channel; "" for a command. Anybody
# who may connect to the database can notify, so it is checked, and so are numbers.
Identity = Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{16})?\Z")]
Number = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class PurgeNotice(msgspec.Struct, frozen=True, array_like=True, tag="purge"):
    """A transaction changed what has one of `tags`; `number` counts those of the origin."""

    origin: Identity
    number: Number
    tags: tuple[str, ...]


class JoinNotice(msgspec.Struct, frozen=True, array_like=True, tag="join"):
    """The origin listens, has an empty cache, and wants a lease; `number` counts its requests."""

    origin: Identity
    number: Number


class HeartbeatNotice(msgspec.Struct, frozen=True, array_like=True, tag="heartbeat"):
    """The origin wants a new lease; `number` counts its requests."""

    origin: Identity
    number: Number


class SeenNotice(msgspec.Struct, frozen=True, array_like=True, tag="seen"):
    """The origin has purged what the receiver's notices up to `number` named."""

    origin: Identity
    number: Number


class LeaveNotice(msgspec.Struct, frozen=True, array_like=True, tag="leave"):
    """The origin does not use its cache any more."""

    origin: Identity


Notice = PurgeNotice | JoinNotice | HeartbeatNotice | SeenNotice | LeaveNotice

_decoder: Final = msgspec.json.Decoder(Notice)


def encode(notice: Notice) -> str:
    """Return the payload of a notification."""
    payload = msgspec.json.encode(notice)
    if isinstance(notice, PurgeNotice) and len(payload) > MOST_BYTES:
        payload = msgspec.json.encode(PurgeNotice(notice.origin, notice.number, (EVERY_TAG,)))
    return payload.decode()


def decode(payload: str) -> Notice:
    """Return the notice of a payload; what is not known purges everything."""
    try:
        notice: Notice = _decoder.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return PurgeNotice("", 0, (EVERY_TAG,))
    return notice
