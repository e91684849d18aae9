"""The command `proxies`: the cost of each file of config/proxy, and the effect of single settings.

Rounds are interleaved. A measurement during which another process used more than a twentieth of a
core is repeated, three times in all; the quietest one is used.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Final

import click

from loadtest.harness.environment import prepare, sum_up
from loadtest.harness.measurement import DISTURBED
from loadtest.harness.scenario import order
from loadtest.proxies import configs, load, variants
from loadtest.proxies.load import Row, RunningProxy, running_proxy
from loadtest.proxies.variants import Setup
from loadtest.report.command import extent_of, finish

TRIES: Final = 3
REQUESTS: Final = 60_000  # of h2load
FIGURES: Final = ("rate", "p50", "p99", "proxy_us", "service_us", "client_us", "others_share")
Measure = Callable[[RunningProxy], Row]


class Bench:
    """Measures setups for `seconds` each on the two `cores`."""

    def __init__(self, folder: Path, cores: tuple[int, int], seconds: float) -> None:
        """Take the `folder` with the seeded `data` and the `targets`."""
        self._folder, self._cores, self._seconds = folder, cores, seconds
        self._targets = folder / "targets"
        self._first = self._targets.read_text().splitlines()[0]

    def apart(self) -> Iterator[Row]:
        """Yield each file, with TLS and plain: the proxy has a core for itself."""
        for setup in (*variants.SHIPPED, *variants.PLAIN_HTTP, variants.MICROCACHE):
            yield self._keep_alive(setup, "apart")

    def together(self) -> Iterator[Row]:
        """Yield the same with all processes on both cores, and with other numbers of workers."""
        for setup in (*variants.SHIPPED, *variants.PLAIN_HTTP, *variants.WORKERS):
            yield self._keep_alive(setup, "together")

    def changes(self) -> Iterator[Row]:
        """Yield each file as it is, with single changes, and nginx's stream module if present."""
        shipped = [setup for setup in variants.SHIPPED if setup.front != "caddy"]
        stream = variants.STREAM if configs.STREAM_MODULE.exists() else ()
        for setup in (*shipped, *variants.CHANGES, *variants.FIXED, *stream):
            yield self._keep_alive(setup, "apart")

    def connections(self) -> Iterator[Row]:
        """Yield new connections, with and without resumption, and with an RSA certificate."""
        for setup in (*variants.SHIPPED, *variants.RSA):
            for resumed in (False, True):

                def measure(stand: RunningProxy, resumed: bool = resumed) -> Row:
                    return load.connections(
                        stand, self._first, self._seconds / 2, self._cores, resumed=resumed
                    )

                yield self._measure(setup, "apart", measure)

    def http2(self) -> Iterator[Row]:
        """Yield HTTP/2 and HTTP/1.1 by the same client, for proxies with both."""
        for setup in variants.SHIPPED:
            if variants.uses_proxy_protocol(setup):
                continue
            for version in ("1.1", "2"):

                def measure(stand: RunningProxy, version: str = version) -> Row:
                    requests = int(REQUESTS * min(1.0, self._seconds / 5))
                    return load.by_http_2(
                        stand, self._first, requests, self._cores, "apart", version
                    )

                yield self._measure(setup, "apart", measure)

    def compression(self) -> Iterator[Row]:
        """Yield a script and a list, compressed by the service and by nginx, over plain HTTP."""
        listed = self._first.replace("/count?", "?") + "&limit=20"
        wanted = {"comments.js": "/static/comments.js", "a list": listed}
        for coding, setups in variants.COMPRESSION.items():
            if coding == "br" and not configs.BROTLI_MODULE.exists():
                setups = setups[:1]
            for setup, (name, target) in product(setups, wanted.items()):

                def measure(stand: RunningProxy, target: str = target, coding: str = coding) -> Row:
                    return load.compressed(stand, target, coding, self._seconds, self._cores)

                row = self._measure(setup, "apart", measure)
                yield row | {"setup": f"{name} in {coding} by {setup.name}"}

    def _keep_alive(self, setup: Setup, placement: str) -> Row:
        return self._measure(
            setup,
            placement,
            lambda stand: load.keep_alive(
                stand, self._targets, self._seconds, self._cores, placement
            ),
        )

    def _measure(self, setup: Setup, placement: str, measure: Measure) -> Row:
        """Return the quietest of a few tries. Raise MissingError, ServiceError or ClientError."""
        made: list[Row] = []
        with running_proxy(setup, self._folder, self._cores, placement) as stand:
            while not made or (made[-1]["others_share"] > DISTURBED and len(made) < TRIES):
                made.append(measure(stand) | {"placement": placement})
        return min(made, key=lambda row: float(row["others_share"]))


PARTS: Final = ("apart", "together", "changes", "connections", "http2", "compression")


@click.command
@click.argument("parts", metavar="[PART]...", nargs=-1, type=click.Choice(PARTS))
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--seconds", type=click.FloatRange(1, 600), default=5, show_default=True)
def main(parts: tuple[str, ...], rounds: int, seconds: float) -> None:
    """The proxies of config/proxy: all PARTs, or some."""
    extent = extent_of(False, rounds, seconds)
    with prepare(extent) as place:
        place.folder.chmod(0o711)  # hitch gives its rights away
        targets = [f"/api/comments/count?url={page.url}" for page in place.pages]
        asked = "".join(f"{targets[at]}\n" for at in order(len(targets)))
        (place.folder / "targets").write_text(asked)
        bench = Bench(place.folder.resolve(), place.cores, seconds)
        rows = list(_play(bench, parts or PARTS, rounds))
    medians = summarise(rows)
    text = [line(one) for one in medians]
    text += [f"{name:<64} {value:6.2f}  {goal}" for name, value, goal in judge(medians)]
    result = sum_up(place.about | {"clients": load.CLIENTS}, {}, rows, lambda _: [])
    finish(result, "proxies", "\n".join(text))


def _play(bench: Bench, parts: Sequence[str], rounds: int) -> Iterator[Row]:
    for number in range(1, rounds + 1):
        for part in parts:
            for row in getattr(bench, part)():
                made = row | {"part": part, "round": number}
                made["scenario"] = ", ".join(filter(None, key(made)))
                made["disturbed"] = made["others_share"] > DISTURBED
                click.echo(line(made))
                yield made


def key(row: Row) -> tuple[str, ...]:
    """Return what identifies a row in all rounds."""
    return tuple(str(row.get(name, "")) for name in ("part", "setup", "resumed", "version"))


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Return the medians over the rounds."""
    grouped: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        grouped.setdefault(key(row), []).append(row)
    return [
        {**group[0], **{name: statistics.median(row[name] for row in group) for name in FIGURES}}
        for group in grouped.values()
    ]


def line(row: Row) -> str:
    """Return a row as text."""
    _, setup, resumed, version = key(row)
    name = " ".join(filter(None, (setup, resumed and f"resumed={resumed}", version)))
    return (
        f"{row['part']:<12}{name:<36}{row['rate']:>9,.0f}/s  µs: proxy {row['proxy_us']:7.1f}"
        f"  service {row['service_us']:6.1f}  client {row['client_us']:6.1f}"
        f"  p99 {row['p99'] / 1e3:6.1f} ms  others {row['others_share']:.0%}"
        f"{'  bytes ' + str(row['bytes']) if 'bytes' in row else ''}"
    )


def judge(medians: Sequence[Row]) -> Iterator[tuple[str, float, str]]:
    """Yield the goals that were measured: a name, the value, the goal."""
    changes = {row["setup"]: row for row in medians if row["part"] == "changes"}
    for setup in variants.FIXED:
        if setup.front in changes and setup.name in changes:
            rate = changes[setup.front]["rate"] / changes[setup.name]["rate"]
            yield f"{setup.front}: requests by HTTPS over those of a fixed answer", rate, "≥ 0.95"
            least = changes[setup.name]["service_us"] / changes[setup.name]["proxy_us"]
            yield f"{setup.name}: its CPU over the proxy's", least, ""
    apart = {row["setup"]: row for row in medians if row["part"] == "apart"}
    shipped = {name: apart[name] for name in map(key_of, variants.SHIPPED) if name in apart}
    if not shipped:
        return
    cost = {name: row["proxy_us"] for name, row in shipped.items()}
    best = min(cost, key=lambda name: cost[name])
    for setup in variants.PLAIN_HTTP:
        if setup.name in apart:
            plain = apart[setup.name]
            rate = shipped[setup.front]["rate"] / plain["rate"]
            yield f"{setup.front}: requests by HTTPS over plain HTTP", rate, "≥ 0.95"
            saved = plain["proxy_us"] / cost[setup.front]
            yield f"{setup.front}: the proxy's CPU, plain HTTP over HTTPS", saved, ""
    for name, row in shipped.items():
        share = row["service_us"] / row["proxy_us"]
        yield f"{name}: the service's CPU over the proxy's", share, "< 0.25"
        yield (
            f"{name}: requests over those of {best}",
            row["rate"] / shipped[best]["rate"],
            "≥ 0.85",
        )


def key_of(setup: Setup) -> str:
    """Return the name in a setup's rows."""
    return setup.name
