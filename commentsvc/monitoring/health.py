"""Health and metrics of a running service, for operators and monitoring.

They are not public, even if a proxy forwards requests for them: only programs on this machine that
connect directly, and `server.monitoring_networks`, get an answer.
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from commentsvc.api.serialize import Answer, Client, State
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.db.errors import DatabaseError
from commentsvc.db.schema.comments import SiteTable
from commentsvc.http.messages import (
    JSON,
    NOT_STORED,
    AddressList,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    encode,
)
from commentsvc.http.operation import TEXT, handles
from commentsvc.http.router import NOTHING_HERE
from commentsvc.monitoring.conditions import Condition, Conditions
from commentsvc.util.timestamps import rfc3339

if TYPE_CHECKING:
    from commentsvc.cluster.membership import InstanceState
    from commentsvc.monitoring.metrics import Metrics


_handles = partial(handles, "GET", ignores_unknown=True)
FORWARDED = ("x-forwarded-for", "x-real-ip")
THIS_MACHINE = AddressList(("unix", "127.0.0.0/8", "::1/128"))


class Ready(Answer, frozen=True, gc=False):
    """The state of the service, and the conditions that an operator has to mend."""

    status: Literal["ready"]
    conditions: list[Condition]


class Health:
    """The handlers for health and metrics."""

    def __init__(
        self,
        service: ServiceContext,
        stats: Callable[[], dict[str, int]],
        instance: "Callable[[], InstanceState | None]",
        conditions: Conditions,
    ) -> None:
        """Take the core's `stats`, and the other parts with metrics.

        `instance` returns the state of this instance, or None where there can be only one.
        """
        self._database = service.database
        self._clock = service.clock
        self._proxies = TrustedProxies(service.settings.server.trusted_proxies)
        self._monitoring = AddressList(service.settings.server.monitoring_networks)
        self._conditions = conditions
        self._measured = stats, service.database, instance, conditions

    @_handles("/healthz", State, errors=(404,))
    def health(self, request: Request) -> Response:
        """Whether the service is running.

        It is, while the event loop answers. 404 for the public. Not cached.
        """
        self._admit(request)
        return _response(State("alive"))

    @_handles("/readyz", Ready, errors=(404, 503))
    async def ready(self, request: Request) -> Response:
        """Whether the service can serve and store comments.

        503 if it cannot, 404 for the public. Not cached. The `conditions` are what the operator has
        to mend. After a failed write it writes something itself, so that it notices the end of the
        failure.
        """
        self._admit(request)
        try:
            self._database.read_now(Snapshot.first, SiteTable.select(SiteTable.id))
            if self._database.write_health.error or self._database.seems_replaced:
                await self._database.write(
                    Transaction.change, SiteTable.update(name=SiteTable.name)
                )
        except DatabaseError as error:
            texts = [each.text for each in self._conditions.now()] or [str(error)]
            raise HttpError(503, "not_ready", "; ".join(texts)) from error
        return _response(Ready("ready", self._conditions.now()))

    @_handles("/metrics", TEXT, errors=(404,))
    def metrics(self, request: Request) -> Response:
        """Metrics in Prometheus' format.

        They are those of core, outbox and process. 404 for the public.
        """
        self._admit(request)
        media_type, text = self._metrics.exposition()
        return Response(200, (("Content-Type", media_type), NOT_STORED), text)

    @_handles("/api/client", Client, errors=())
    def client(self, request: Request) -> Response:
        """The client's address as the service sees it.

        It is for `commentsvc doctor`. Scripts of other pages cannot read it, and it contains only
        the client's own address.
        """
        return _response(
            Client(
                address=self._proxies.client(request),
                host=request.header("host") or "",
                time=rfc3339(self._clock.now_ms()),
            )
        )

    @cached_property
    def _metrics(self) -> "Metrics":
        """Return the metrics, made at the first request: their library takes 20 ms and 3 MiB."""
        from commentsvc.monitoring.metrics import Metrics

        return Metrics(*self._measured)

    def _admit(self, request: Request) -> None:
        """Raise HttpError 404 for the public, and for requests through a proxy on this machine."""
        forwarded = bool(request.client) or any(map(request.header, FORWARDED))
        if not forwarded and THIS_MACHINE.names(request.peer):
            return
        if not self._monitoring.names(self._proxies.client(request)):
            raise HttpError(404, *NOTHING_HERE)


def _response(value: State | Ready | Client) -> Response:
    return Response(200, (("Content-Type", JSON), NOT_STORED), encode(value))
