"""What to change if a mail server cannot be reached."""

import socket
import ssl

import pytest

from commentsvc.util.connect_advice import advice


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (socket.gaierror(-2, "Name or service not known"), {"host"}),
        (UnicodeError("label too long"), {"host"}),
        (ConnectionRefusedError(), {"host", "port", "security"}),
        (TimeoutError(), {"host", "port", "security"}),
        (ssl.SSLError(1, "wrong version number"), {"security", "port"}),
        (ssl.SSLCertVerificationError("self-signed"), {"host", "ca_file"}),
        (ValueError(), set()),
    ],
)
@pytest.mark.parametrize("is_wrapped", [True, False])
def test_each_fault_names_the_settings_that_may_be_wrong(
    error: Exception, named: set[str], is_wrapped: bool
) -> None:
    if is_wrapped:
        outer = RuntimeError("the library's own")
        outer.__cause__ = error
        error = outer
    said = advice(error, "inbox")
    keys = ("host", "port", "security", "user", "ca_file")
    assert {key for key in keys if f"inbox.{key}" in said} == named
    assert not said or (said.startswith(" ") and said.endswith("."))
