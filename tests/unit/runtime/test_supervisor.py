"""Pauses between the starts of a process of --processes; e2e/test_postgresql.py has the rest."""

from commentsvc.runtime.supervisor import FIRST_PAUSE, LONGEST_PAUSE, SETTLED, next_pause


def test_pauses_grow_to_a_bound_however_often_a_start_fails() -> None:
    """Regression: after 1,024 failures, as in a night without PostgreSQL, no start followed."""
    pauses = [FIRST_PAUSE]
    for _ in range(2_000):
        pauses.append(next_pause(pauses[-1], lived=1.0))
    assert pauses[:4] == [FIRST_PAUSE * 2**number for number in range(4)]
    assert pauses[-1] == max(pauses) == LONGEST_PAUSE


def test_a_process_that_has_lived_is_started_again_soon() -> None:
    assert next_pause(0.0, lived=1.0) == FIRST_PAUSE
    assert next_pause(LONGEST_PAUSE, lived=SETTLED + 1) == FIRST_PAUSE
