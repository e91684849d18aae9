"""The errors that the core answers by itself, in the same form as the errors of handlers.

The core chooses the status; it gets the bodies at its start (`_core.Server`).
"""

from typing import Final

from commentsvc.http.messages import HttpError, refusal, too_large

_ERRORS: Final = {
    400: ("malformed_request", "The request is malformed. Send it as RFC 9112 describes."),
    408: ("request_timeout", "The request took too long to arrive. Send it again."),
    413: (too_large().code, too_large().message),
    414: ("address_too_long", "The address is too long. Ask for fewer things at once."),
    417: (
        "expectation_failed",
        'Only "Expect: 100-continue" is supported. Leave the header out.',
    ),
    431: ("headers_too_large", "The headers are too large. Send fewer or shorter ones."),
    500: ("failed", "The request was not answered. Try again in a moment."),
    501: ("not_implemented", "The method or the transfer coding is not supported."),
    503: ("busy", "The service is busy. Try again in a moment."),
    504: ("timeout", "The response took too long to make. Try again in a moment."),
    505: ("version_not_supported", "Only HTTP/1.1 and HTTP/1.0 are supported."),
}


def bodies() -> dict[int, bytes]:
    """Return the JSON body of each status: ``{"error": {"code", "message"}}``."""
    return {
        status: refusal(HttpError(status, code, message)).body
        for status, (code, message) in _ERRORS.items()
    }
