"""A client: Locust, which sends the requests in the file SCRIPT, one on each line, once.

    SCRIPT=file EACH=rate locust -f on_locust.py --headless -u USERS -t 10s --host URL --json

Each user takes the next request, and sends EACH requests a second.
"""

import json
import os
from pathlib import Path

from locust import FastHttpUser, constant_throughput, task  # type: ignore[import-not-found]  # own

REQUESTS = iter([json.loads(line) for line in Path(os.environ["SCRIPT"]).read_text().splitlines()])


class Reader(FastHttpUser):  # type: ignore[misc]  # it has its own environment
    """A user of the talk's mix."""

    wait_time = constant_throughput(float(os.environ["EACH"]))

    @task
    def ask(self):  # type: ignore[no-untyped-def]  # Locust's tasks are untyped
        """Send the next request; any other than the expected status is a failure."""
        asked = next(REQUESTS)
        body, headers = asked["body"] or None, asked["headers"]
        how = {"name": "all", "headers": headers, "data": body, "allow_redirects": False}
        request = self.client.request(asked["method"], asked["target"], catch_response=True, **how)
        with request as response:
            if response.status_code == asked["status"]:
                response.success()
            else:
                response.failure(f"status {response.status_code}")
