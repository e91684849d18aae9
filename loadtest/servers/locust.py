"""Locust, from PyPI, with the requests of the talk's mix."""

import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from loadtest.harness import client
from loadtest.harness.browsers import Seen
from loadtest.harness.client import ClientError, Outcome, Request
from loadtest.harness.scenario import MARK
from loadtest.servers.peer import PEERS, environment

WANTED: Final = ("locust==2.47.0",)
USERS: Final = 20


def script(requests: Sequence[Request], order: Sequence[int]) -> str:
    """Return the requests in order, a line of JSON each, with fresh serial numbers."""
    lines = []
    for serial, index in enumerate(order):
        request = requests[index]
        text = request.text.decode().replace(MARK, f"{serial:0{len(MARK)}}")
        head, _, body = text.partition("\r\n\r\n")
        first, *fields = head.split("\r\n")
        method, target, _ = first.split(" ")
        headers = dict(field.split(": ", 1) for field in fields)
        headers.pop("Content-Length", None)  # Locust writes it itself
        about = {"method": method, "target": target, "headers": headers, "status": request.status}
        lines.append(json.dumps({**about, "body": body}))
    return "\n".join(lines) + "\n"


def play(file: Path, port: int, rate: float, seconds: int, core: str) -> Seen:
    """Let Locust send the requests in `file` at a rate. Raise MissingError or ClientError."""
    python = environment("locust", sys.executable, WANTED, alone=False)
    os.environ.update({"SCRIPT": str(file), "EACH": str(rate / USERS)})
    words = [str(python), "-m", "locust", "-f", str(PEERS / "on_locust.py"), "--headless"]
    words += ["-u", str(USERS), "-r", str(USERS), "-t", f"{seconds}s", "--json", "--skip-log"]
    said, share = client.run([*words, "--host", f"http://127.0.0.1:{port}"], core)
    return parse(said, share)


def parse(said: str, share: float) -> Seen:
    """Return the result in Locust's statistics; its times are whole ms, and coarser above 100."""
    told = [one for one in json.loads(said) if one["name"] == "all"]  # one for each method
    if not told:
        raise ClientError(f"Locust asked nothing: {said[-300:]}")
    times = Counter[float]()
    for one in told:
        times.update({float(ms): count for ms, count in one["response_times"].items()})
    asked, wrong = _sum(told, "num_requests"), _sum(told, "num_failures")
    seconds = max(one["last_request_timestamp"] for one in told) - told[0]["start_time"]
    p50, p90, p99 = (percentile(times, part) * 1_000 for part in (0.5, 0.9, 0.99))
    most = max(one["max_response_time"] for one in told) * 1_000
    outcome = Outcome(asked - wrong, seconds, wrong, 0, p50, p90, p99, most, share)
    mean = _sum(told, "total_response_time") / asked * 1_000
    least, p95 = min(one["min_response_time"] for one in told), percentile(times, 0.95)
    return Seen(outcome, least * 1_000, mean, p95 * 1_000, 0, {})


# Any: numbers, by what they are of.
def _sum(told: Sequence[dict[str, Any]], figure: str) -> Any:
    return sum(one[figure] for one in told)


def percentile(times: Counter[Any], part: float) -> float:
    """Return the time that the share `part` of all times did not exceed."""
    wanted, seen = times.total() * part, 0
    for time in sorted(times):
        seen += times[time]
        if seen >= wanted:
            return float(time)
    return 0.0
