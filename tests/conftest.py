"""What all tests share: how a test says that this machine lacks something it needs."""

import os
import shutil
from typing import NoReturn

import pytest
from hypothesis import settings

# A machine that is busy must not fail a property; tests that bound time measure CPU time.
settings.register_profile("commentsvc", deadline=None)
settings.load_profile("commentsvc")


def cannot_run(reason: str) -> NoReturn:
    """Skip the test with `reason`; fail it where CI=true, since nothing may be missing there."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"cannot run in CI: {reason}")
    pytest.skip(reason)


def find_program(*names: str) -> str:
    """The path of the first of `names` that is installed; without one the test cannot run."""
    for name in names:
        if path := shutil.which(name):
            return path
    cannot_run(f"not installed: {' or '.join(names)}")
