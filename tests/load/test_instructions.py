"""The comparison of two versions by their instructions: how a profile is read, and what fails."""

import pytest

from loadtest.workloads.instructions import BASE, BOUND, HEAD, NAMES, judge, parse

# What callgrind writes: names are given once, costs of a call follow its line.
PROFILE = """\
positions: line
events: Ir
ob=(1) /usr/lib/libc.so.6
fl=(1) string.c
fn=(1) memcpy
10 300
+2 5
ob=(2) /opt/commentsvc/_core.abi3.so
fl=(2) worker.c
fn=(2) run
7 1000
cob=(1)
cfn=(1)
calls=3 10
* 305
-1 20
ob=(1)
fn=(1)
* 7

totals: 1332
"""


def test_the_costs_of_a_call_are_counted_once() -> None:
    found = parse(PROFILE)
    assert found == {"libc.so.6": 312, "_core.abi3.so": 1020}
    assert found.total() == 1332


@pytest.mark.parametrize("slower", NAMES)
@pytest.mark.parametrize(("factor", "holds"), [(1.02, True), (1.05, False)])
def test_five_per_cent_more_of_one_kind_fails(slower: str, factor: float, *, holds: bool) -> None:
    rows = [
        {
            "scenario": f"{kind}: {name}",
            "round": 1,
            "disturbed": False,
            "instructions": 1000 * (factor if (kind, name) == (slower, HEAD) else 1),
        }
        for kind in NAMES
        for name in (BASE, HEAD)
    ]
    found = {one.name.partition(":")[0]: one.holds for one in judge(rows, BOUND)}
    assert found == {kind: holds or kind != slower for kind in NAMES}
