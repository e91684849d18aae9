"""The command `proxies`: what each file of config/proxy costs, over HTTPS and plain HTTP.

The proxy has the first core for itself; service and clients share the second one. The proxy's
processes are identified by their session. The time of other processes on either core is reported
as others.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

import click

from loadtest.harness import client, process
from loadtest.harness.browsers import names, ratio
from loadtest.harness.environment import Environment, prepare, sum_up
from loadtest.harness.measurement import DISTURBED, Row
from loadtest.harness.programs import MissingError
from loadtest.harness.result import Result, Verdict
from loadtest.harness.rounds import play, quiet
from loadtest.harness.running import Running, free_ports
from loadtest.harness.scenario import Goal, order
from loadtest.harness.service import Service
from loadtest.proxies.configs import CONFIGS, TLS_ONLY, ProxyValues
from loadtest.proxies.nginx import certificate
from loadtest.report.command import extent_of, finish, options
from loadtest.report.table import align, milliseconds, number, show

CLIENTS: Final = 250
HOST: Final = "localhost"
HTTPS: Final = Goal("times", "least", 0.95, "of the same proxy's plain HTTP")


@dataclass(frozen=True, slots=True)
class Setup:
    """A proxy; `more` are changes of its file, `marks` switch lines of it on."""

    name: str
    front: str
    plain: bool = False  # without TLS
    more: Mapping[str, str] = field(default_factory=dict)
    marks: tuple[str, ...] = ()


# Changes of a file for plain HTTP in place of a redirect. hitch has no plain HTTP.
PLAIN: Final[dict[str, Mapping[str, str]]] = {
    "nginx": {
        "    if ($scheme = http) {\n"
        "        return 308 https://$server_name$request_uri;\n    }\n": ""
    },
    "caddy": {
        "#tls /etc/ssl/comments.pem /etc/ssl/comments.key": "",
        "{$COMMENTSVC_HOST:comments.example} {": "http://{$COMMENTSVC_HOST} {",
    },
    "haproxy": {
        "    http-request redirect code 308 location"
        ' "https://${COMMENTSVC_HOST}%[capture.req.uri]" unless { ssl_fc }\n': ""
    },
    "haproxy-tcp": {' ssl crt "${COMMENTSVC_PEM}" alpn http/1.1': ""},
}
SETUPS: Final = (
    *(Setup(name, name) for name in CONFIGS),
    *(Setup(f"{name}, plain HTTP", name, plain=True, more=more) for name, more in PLAIN.items()),
    Setup("nginx, micro-cache", "nginx", marks=("#m ",)),
)


class Used(NamedTuple):
    """Nanoseconds: of the clock, the proxy, the service, both cores, the kernel's threads."""

    clock: int
    proxy: int
    service: int
    busy: int
    kernel: int


@contextmanager
def serving(environment: Environment, setup: Setup) -> Iterator[tuple[Service, Running]]:
    """Run the service and a proxy in front of it. Raise MissingError or ServiceError."""
    folder = environment.folder.resolve()
    socket, settings = folder / "http.sock", {}
    if setup.front in TLS_ONLY:
        settings["COMMENTSVC_SERVER_PROXY_PROTOCOL"] = "true"
        settings["COMMENTSVC_SERVER_HSTS"] = "max-age=63072000"
    service_cores, proxy_cores = environment.cores[1:], environment.cores[:1]
    listen = f"unix:{socket}"
    with Service(folder / "data", service_cores, settings=settings, listen=listen) as service:
        socket.chmod(0o777)
        http, https = free_ports()
        values = ProxyValues(folder, listen, *certificate(folder), http, https, HOST, 1)
        given = {"more": setup.more, "marks": setup.marks}
        made = CONFIGS[setup.front](values, **{key: v for key, v in given.items() if v})
        port = http if setup.plain and setup.front != "haproxy-tcp" else https
        log = folder / "proxy.log"
        with Running(made.start, port, log, proxy_cores, made.environ) as proxy:
            yield service, proxy


class Proxies:
    """Measures each setup with 250 kept connections."""

    def __init__(self, environment: Environment) -> None:
        """Take the environment with its seeded blog."""
        environment.folder.chmod(0o711)  # hitch gives its rights away
        targets = [f"/api/comments/count?url={page.url}" for page in environment.pages]
        self._targets = environment.folder / "targets"
        self._targets.write_text("".join(f"{targets[at]}\n" for at in order(len(targets))))
        self._environment = environment
        self.absent: dict[str, str] = {}

    def play(self, number: int) -> Iterator[Row]:
        """Measure each setup once. Raise ServiceError, or ClientError for wrong answers."""
        for setup in SETUPS:
            try:
                with serving(self._environment, setup) as (service, proxy):
                    measure = partial(self._measure, setup, number, service, proxy)
                    yield quiet(self._environment.extent, measure)
            except MissingError as reason:
                self.absent[setup.front] = str(reason)

    def _measure(self, setup: Setup, number: int, service: Service, proxy: Running) -> Row:
        core, seconds = str(self._environment.cores[1]), self._environment.extent.seconds
        origin = f"{'http' if setup.plain else 'https'}://{HOST}:{proxy.port}/"
        words = [client.find_wrk(), "-t1", f"-c{CLIENTS}", "--timeout", client.PATIENCE]
        words += ["-s", str(client.WRK_SCRIPT), origin]
        asked = ["--", str(self._targets), "1"]
        client.run([*words, "-d1s", *asked], core)
        before = self._used(service, proxy)
        said, share = client.run([*words, f"-d{seconds:.0f}s", *asked], core)
        outcome = client.parse_wrk(said, 1, share)
        client.demand(setup.name, outcome)
        after = self._used(service, proxy)
        used = Used(*(late - early for early, late in zip(before, after, strict=True)))
        clients = outcome.client_share * outcome.seconds * 1e9
        others = max(0.0, used.busy - used.proxy - used.service - used.kernel - clients)
        row = {
            "scenario": setup.name,
            "round": number,
            "disturbed": others > DISTURBED * used.clock,
            "disturbance": others / used.clock,
            "rate": outcome.answered / outcome.seconds,
            "p50": outcome.p50,
            "p99": outcome.p99,
            "proxy_us": used.proxy / outcome.answered / 1e3,
            "service_us": used.service / outcome.answered / 1e3,
            "client_us": clients / outcome.answered / 1e3,
        }
        show(row)
        return row

    def _used(self, service: Service, proxy: Running) -> Used:
        """Return the times used so far."""
        busy = sum(process.core(core).busy for core in self._environment.cores)
        clock = time.monotonic_ns()
        return Used(clock, proxy.cpu(), service.cpu(), busy, process.kernel_cpu())


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Return the rate over HTTPS divided by that over plain HTTP, for each proxy."""
    measured = names(rows)
    return [
        ratio(rows, name, [f"{name}, plain HTTP"], HTTPS, "rate")
        for name in CONFIGS
        if name in measured and f"{name}, plain HTTP" in measured
    ]


def table(result: Result) -> str:
    """Return the medians."""
    head = ("proxy", "requests/s", "CPU-µs of the proxy", "the service", "a client", "p99 ms")
    lines: list[tuple[str, ...]] = [head]
    for one in result.summaries:
        costs = (number(one.medians[name]) for name in ("proxy_us", "service_us", "client_us"))
        rate, p99 = number(one.medians["rate"]), milliseconds(one.medians["p99"])
        lines.append((one.name + " (disturbed)" * one.disturbed, rate, *costs, p99))
    return align(lines)


@click.command
@options(5)
def main(rounds: int, seconds: int, short: bool) -> None:
    """The files of config/proxy, over HTTPS and plain HTTP."""
    with prepare(extent_of(short, rounds, seconds, tries=3)) as environment:
        measured = Proxies(environment)
        rows = play(environment.extent, measured.play)
    about = environment.about | {"clients": CLIENTS, "absent": measured.absent}
    result = sum_up(about, {}, rows, judge)
    finish(result, "proxies", table(result), short=short)
