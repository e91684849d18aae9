"""A proxy and a service behind it under load: the CPU time of each per request and connection.

The proxy's processes are identified by their session, so that the CPU time per request is right
also on shared cores. "apart": the proxy has the first core for itself, service and clients share
the second one. "together": all are on both, as on a small machine. The time of other processes on
either core is reported as others.
"""

import http.client
import re
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from loadtest.harness import client, process, programs
from loadtest.harness.client import ClientError, Outcome
from loadtest.harness.programs import MissingError
from loadtest.harness.running import Running, free_ports
from loadtest.harness.service import PATIENCE, Service, ServiceError
from loadtest.proxies.configs import CONFIGS, Make, Place, nginx_stream
from loadtest.proxies.nginx import certificate
from loadtest.proxies.variants import Setup, uses_proxy_protocol

CLIENTS: Final = 250
HOST: Final = "localhost"
ANSWER: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAccess-Control-Allow-Origin: *\r\n"
    b'Cache-Control: public, max-age=0, must-revalidate\r\nETag: "0123456789abcdef"\r\n'
    b'Content-Length: 11\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n{"count":0}'
)
MADE: Final[dict[str, Make]] = {**CONFIGS, "nginx-stream": nginx_stream}
Row = dict[str, Any]  # Any: a figure or a name


class Used(NamedTuple):
    """Nanoseconds: of the clock, the proxy, the service, both cores, the kernel's threads."""

    clock: int
    proxy: int
    service: int
    busy: int
    kernel: int


class RunningProxy:
    """A running proxy in front of a running service, at `origin`."""

    def __init__(
        self, setup: Setup, server: Service | Running, proxy: Running, folder: Path
    ) -> None:
        """Take both, which run in `folder`."""
        self._server = server
        self._proxy = proxy
        self.folder = folder
        self.port = proxy.port
        self.origin = f"{'http' if setup.plain else 'https'}://{HOST}:{proxy.port}"
        self.setup = setup

    def used(self, cores: tuple[int, int]) -> Used:
        """Return the times used so far."""
        busy = sum(process.core(core).busy for core in cores)
        clock = time.monotonic_ns()
        return Used(clock, self._proxy.cpu(), self._server.cpu(), busy, process.kernel_cpu())

    def connect(self, trust: ssl.SSLContext, session: ssl.SSLSession | None) -> ssl.SSLSocket:
        """Return a new connection by TLS, which resumes `session` if there is one."""
        bare = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        return trust.wrap_socket(bare, server_hostname=HOST, session=session)


@contextmanager
def running_proxy(
    setup: Setup, folder: Path, cores: tuple[int, int], placement: str
) -> Iterator[RunningProxy]:
    """Start service and proxy. Raise MissingError or ServiceError."""
    proxy_cores, other = placed(cores, placement)
    listen = "127.0.0.1:0" if setup.tcp else f"unix:{folder}/http.sock"
    settings = {"COMMENTSVC_SERVER_PROXY_PROTOCOL": "true"} if uses_proxy_protocol(setup) else {}
    if uses_proxy_protocol(setup):
        settings["COMMENTSVC_SERVER_HSTS"] = "max-age=63072000"
    with _server(setup, folder, other, settings, listen) as server:
        upstream = listen if listen.startswith("unix:") else f"127.0.0.1:{server.port}"
        if upstream == listen:
            Path(upstream.removeprefix("unix:")).chmod(0o777)
        chain, key = certificate(folder, setup.key)
        ports = free_ports()
        workers = setup.workers or len(proxy_cores)
        place = Place(folder, upstream, chain, key, *ports, HOST, workers)
        given = {"more": setup.more, "marks": setup.marks}
        made = MADE[setup.front](place, **{name: value for name, value in given.items() if value})
        plain = setup.plain and setup.front != "haproxy-tcp"
        log, environ = folder / "proxy.log", {**made.environ, **setup.environ}
        with Running(
            made.start, ports[0] if plain else ports[1], log, proxy_cores, environ
        ) as proxy:
            yield RunningProxy(setup, server, proxy, folder)


def _server(
    setup: Setup, folder: Path, cores: list[int], settings: dict[str, str], listen: str
) -> Service | Running:
    if not setup.fixed:
        return Service(folder / "data", cores, settings=settings, listen=listen)
    answer = folder / "answer"
    answer.write_bytes(ANSWER)
    words = [str(programs.baseline()), listen, str(answer)]
    return Running(words, Path(listen.removeprefix("unix:")), folder / "baseline.log", cores)


def placed(cores: tuple[int, int], placement: str) -> tuple[list[int], list[int]]:
    """Return the cores of the proxy, and those of the service and the clients."""
    return ([cores[0]], [cores[1]]) if placement == "apart" else (list(cores), list(cores))


def keep_alive(
    stand: RunningProxy,
    targets: Path,
    seconds: float,
    cores: tuple[int, int],
    placement: str,
    coding: str = "",
) -> Row:
    """Measure 250 kept connections with wrk. Raise ClientError for wrong answers."""
    words = [client.find_wrk(), "-t1", f"-c{CLIENTS}", "--timeout", client.PATIENCE]
    words += ["-s", str(client.WRK_SCRIPT), *["-H", f"Accept-Encoding: {coding}"] * bool(coding)]
    asked = [f"{stand.origin}/", "--", str(targets), "1"]
    client.run([*words, "-d1s", *asked], _on(cores, placement))
    before = stand.used(cores)
    said, share = client.run([*words, f"-d{seconds:.0f}s", *asked], _on(cores, placement))
    outcome = client.parse_wrk(said, 1, share)
    client.demand(stand.setup.name, outcome)
    return _row(stand, outcome, before, stand.used(cores))


def compressed(
    stand: RunningProxy, target: str, coding: str, seconds: float, cores: tuple[int, int]
) -> Row:
    """Measure one answer in a content coding. Raise ServiceError if it is in another one."""
    connection = http.client.HTTPConnection("127.0.0.1", stand.port, timeout=PATIENCE)
    connection.request("GET", target, headers={"Host": HOST, "Accept-Encoding": coding})
    answer = connection.getresponse()
    size = len(answer.read())
    connection.close()
    if answer.headers["Content-Encoding"] != coding:
        raise ServiceError(f"{stand.setup.name}: {target} is not in {coding}")
    targets = stand.folder / "compressed"
    targets.write_text(f"{target}\n")
    return keep_alive(stand, targets, seconds, cores, "apart", coding) | {"bytes": size}


def by_http_2(
    stand: RunningProxy,
    target: str,
    requests: int,
    cores: tuple[int, int],
    placement: str,
    version: str,
) -> Row:
    """Measure with h2load, over HTTP/2 or, to compare, over HTTP/1.1."""
    program = shutil.which("h2load")
    if program is None:
        raise MissingError("h2load is missing. Run: apt-get install -y nghttp2-client")
    words = [program, f"-n{requests}", f"-c{CLIENTS}", "-m1", *["--h1"] * (version == "1.1")]
    before = stand.used(cores)
    said, share = client.run([*words, f"{stand.origin}{target}"], _on(cores, placement))
    outcome = parse_h2load(said, share)
    client.demand(stand.setup.name, outcome)
    return _row(stand, outcome, before, stand.used(cores)) | {"version": version}


def parse_h2load(said: str, share: float) -> Outcome:
    """Return the result in h2load's output, which has no percentiles. Raise ClientError."""
    done = re.search(r"finished in ([\d.]+)(ms|s|us)", said)
    counts = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", said)
    codes = re.search(r"status codes: (\d+) 2xx", said)
    if not (done and counts and codes):
        raise ClientError(f"h2load says nothing of its requests: {said[-300:]}")
    seconds = float(done[1]) * {"s": 1, "ms": 1e-3, "us": 1e-6}[done[2]]
    right, failed = int(codes[1]), sum(map(int, counts.groups()[1:]))
    return Outcome(right, seconds, int(counts[1]) - right, failed, 0, 0, 0, 0, share)


def connections(
    stand: RunningProxy, target: str, seconds: float, cores: tuple[int, int], *, resumed: bool
) -> Row:
    """Measure new connections one after the other, each for one request. Raise ServiceError."""
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    request = f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
    session, made = None, 0
    before, end = stand.used(cores), time.monotonic() + seconds
    while time.monotonic() < end:
        with stand.connect(trust, session) as connection:
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            answer.read()
            if answer.status != 200 or connection.session_reused != (session is not None):
                raise ServiceError(f"{stand.setup.name}: {answer.status}, or no resumption")
            session = connection.session if resumed else None
        made += 1
    after = stand.used(cores)
    outcome = Outcome(made, (after.clock - before.clock) / 1e9, 0, 0, 0, 0, 0, 0, 0)
    return _row(stand, outcome, before, after) | {"resumed": resumed}


def _on(cores: tuple[int, int], placement: str) -> str:
    return ",".join(map(str, placed(cores, placement)[1]))


def _row(stand: RunningProxy, outcome: Outcome, before: Used, after: Used) -> Row:
    used = Used(*(late - early for early, late in zip(before, after, strict=True)))
    clients = outcome.client_share * outcome.seconds * 1e9
    others = max(0.0, used.busy - used.proxy - used.service - used.kernel - clients)
    return {
        "setup": stand.setup.name,
        "rate": outcome.answered / outcome.seconds,
        "p50": outcome.p50,
        "p99": outcome.p99,
        "proxy_us": used.proxy / outcome.answered / 1e3,
        "service_us": used.service / outcome.answered / 1e3,
        "client_us": clients / outcome.answered / 1e3,
        "others_share": others / used.clock,
    }
