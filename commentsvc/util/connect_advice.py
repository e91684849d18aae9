"""What to change if a mail server cannot be reached: the settings that may be wrong."""

import socket
import ssl
from typing import Final

from commentsvc.util.tls import ENDED, causes

# The most particular errors first.
_ADVICE: Final[tuple[tuple[type[Exception], str], ...]] = (
    (
        ssl.SSLCertVerificationError,
        "{0}.host must be a name in the certificate; for an authority of your own, set"
        " {0}.ca_file.",
    ),
    (ssl.SSLError, "Look at {0}.security and {0}.port: they belong together."),
    (socket.gaierror, "Look at {0}.host."),
    (UnicodeError, "Look at {0}.host."),
    (OSError, "Look at {0}.host, {0}.port and {0}.security."),
)


def advice(error: BaseException, section: str) -> str:
    """Return a sentence that names settings of `section`, after a space; "" if it is not known.

    What a library raises is looked at with its causes.
    """
    found = tuple(causes(error))
    if any(getattr(cause, "verify_code", 0) == ENDED for cause in found):
        return ""  # only the server's operator can help
    for kind, text in _ADVICE:
        if any(isinstance(cause, kind) for cause in found):
            return f" {text.format(section)}"
    return ""
