"""The OpenAPI document and the service agree: schemathesis checks it with generated requests."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.e2e.program import ROOT, Service, command

HERE = Path(__file__).parent
HOOKS = "tests.load.schema_hooks"
EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "20"))  # of each operation
CASES = 100 * EXAMPLES  # there are more, together with those of the other phases
PATIENCE = 600.0  # seconds; on an otherwise idle machine it takes less than 60

PASSWORD = "correct horse battery"
SETTINGS = {
    "COMMENTSVC_MODERATION_POLICY": "none",
    "COMMENTSVC_SPAM_RATE_LIMIT": "off",
    "COMMENTSVC_SITE_ORIGINS": "https://blog.example",
    "COMMENTSVC_SERVER_PUBLIC_URL": "https://comments.example",
    "COMMENTSVC_SITE_ARTALK": "true",
    "COMMENTSVC_SITE_ISSO": "true",
    "COMMENTSVC_SITE_WALINE": "true",
    "COMMENTSVC_SITE_REACTIONS": "👍,❤️",
    "COMMENTSVC_STACOSYS_REDIRECT": "/thanks/",
}


def test_no_request_finds_the_document_and_the_service_at_odds(
    start: Callable[..., Service], data: Path, tmp_path: Path
) -> None:
    service = start(data, environ=SETTINGS)
    for number in range(20):
        assert service.submit("/2017/07/post/", f"Comment {number}").status == 201
    # Read-only: changed comments and pages would change the answers to other requests.
    assert command("moderator", "add", "rosa", "--data", data, given=PASSWORD).code == 0
    made = command("moderator", "token", "add", "rosa", "judge", "--data", data)
    token = made.out.strip()
    words = (
        *(sys.executable, "-m", "schemathesis.cli"),
        *("--config-file", HERE / "schemathesis.toml", "run", f"{service.address}/openapi.json"),
        *("--url", service.address, "--checks", "all", "--max-examples", EXAMPLES, "--seed", 1),
        *(
            "--header",
            f"Authorization: Bearer {token}",
            "--continue-on-failure",
            "--no-shrink",
            "--warnings",
            "off",
        ),
    )
    done = subprocess.run(
        [*map(str, words)],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.load.schema_hooks",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr
    [number] = re.findall(r"(\d+) generated", done.stdout)
    assert int(number) >= CASES
