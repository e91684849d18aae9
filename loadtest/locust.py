"""Locust, from PyPI, playing the talk's mix: what is asked is the same, request by request."""

import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from loadtest import client
from loadtest.client import ClientError, Outcome, Request
from loadtest.peer import PEERS, environment
from loadtest.scenario import MARK
from loadtest.visits import Seen

WANTED: Final = ("locust==2.47.0",)
USERS: Final = 20


def script(requests: Sequence[Request], order: Sequence[int]) -> str:
    """The requests in the order of asking, a line of JSON for each, with fresh serial numbers."""
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
    """Have it play the script in `file` at a rate. Raises AbsentError or ClientError."""
    python = environment("locust", sys.executable, WANTED, alone=False)
    os.environ.update({"SCRIPT": str(file), "EACH": str(rate / USERS)})
    words = [str(python), "-m", "locust", "-f", str(PEERS / "on_locust.py"), "--headless"]
    words += ["-u", str(USERS), "-r", str(USERS), "-t", f"{seconds}s", "--json", "--skip-log"]
    said, share = client.run([*words, "--host", f"http://127.0.0.1:{port}"], core)
    return parse(said, share)


def parse(said: str, share: float) -> Seen:
    """Read its statistics; its times are whole ms, and coarser above 100 of them."""
    told = next((one for one in json.loads(said) if one["name"] == "all"), None)
    if told is None:
        raise ClientError(f"Locust asked nothing: {said[-300:]}")
    times = Counter({float(ms): count for ms, count in told["response_times"].items()})
    seconds = told["last_request_timestamp"] - told["start_time"]
    wrong = told["num_failures"]
    p50, p90, p99 = (percentile(times, part) * 1_000 for part in (0.5, 0.9, 0.99))
    most, right = told["max_response_time"] * 1_000, told["num_requests"] - wrong
    outcome = Outcome(right, seconds, wrong, 0, p50, p90, p99, most, share)
    mean = told["total_response_time"] / told["num_requests"] * 1_000
    least, p95 = told["min_response_time"] * 1_000, percentile(times, 0.95) * 1_000
    return Seen(outcome, least, mean, p95, 0, {})


def percentile(times: Counter[Any], part: float) -> float:
    """What the share `part` of all times did not exceed."""
    wanted, seen = times.total() * part, 0
    for time in sorted(times):
        seen += times[time]
        if seen >= wanted:
            return float(time)
    return 0.0
