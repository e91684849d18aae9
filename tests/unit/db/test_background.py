"""Background work: it goes on whatever happens."""

import asyncio
import logging

import pytest

from commentsvc.db import background
from commentsvc.db.errors import DatabaseError


def test_work_is_repeated_after_errors_and_only_unexpected_ones_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outcomes = iter((DatabaseError("busy"), ValueError("a bug"), None))

    async def work() -> None:
        match next(outcomes, "end"):
            case Exception() as error:
                raise error
            case "end":
                raise asyncio.CancelledError

    with caplog.at_level(logging.INFO), pytest.raises(asyncio.CancelledError):
        asyncio.run(background.repeat(work, "the inbox", 0))
    assert [record.getMessage() for record in caplog.records] == [
        "the inbox goes on after an error"
    ]
