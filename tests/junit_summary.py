"""Counts the outcomes in a JUnit report: `python tests/junit_summary.py REPORT STATUS` for ./test.

Prints "PASSED FAILED SKIPPED". STATUS is the exit status of the program that wrote the report: one
that failed without a failed test (it crashed, hung, could not be built, found no test) counts as
one failure.
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def summarize(report: Path, status: int) -> tuple[int, int, int]:
    """Return how many tests in `report` passed, failed and were skipped, in this order."""
    total = failed = skipped = 0
    if report.exists():
        for suite in ElementTree.parse(report).iter("testsuite"):
            total += int(suite.get("tests", 0))
            failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped += int(suite.get("skipped", 0))
    passed = total - failed - skipped
    if failed == 0 and (status != 0 or total == 0):
        failed = 1
    return passed, failed, skipped


if __name__ == "__main__":
    print(*summarize(Path(sys.argv[1]), int(sys.argv[2])))
