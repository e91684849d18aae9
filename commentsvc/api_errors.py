"""Errors to HTTP: what each failure that a client or the database can cause means to a client.

This is the one place that knows. The router and the pages get `as_http` from here.
"""

from commentsvc import comment_errors
from commentsvc.faults import Fault
from commentsvc.sqlite import DatabaseError, DatabaseFull
from commentsvc.submission import MalformedError, SubmissionError
from commentsvc.urls import UnknownSiteError, UrlError
from commentsvc.web import HttpError

BUSY_SECONDS = "1"  # the writer's queue empties within a second
FULL_SECONDS = "60"  # somebody has to make room first


def as_http(error: Exception) -> HttpError | None:
    """Return the HTTP error that a foreseen failure means; None for any other exception."""
    match error:
        case HttpError():
            return error
        case MalformedError():
            return HttpError(400, "malformed", error.message)
        case SubmissionError():
            named = ", ".join(error.problems)
            return HttpError(400, "invalid", f"Please look at: {named}.", error.problems)
        case UrlError():
            field = "site" if isinstance(error, UnknownSiteError) else "url"
            return HttpError(400, "invalid", str(error), {field: str(error)})
        case comment_errors.CommentsError():
            return _contradiction(error)
        case comment_errors.BadCursor():
            message = "This is not where a list can go on. Start again without `after`."
            return HttpError(400, "invalid", message, {"after": message})
        case DatabaseFull():
            message = "Comments cannot be stored just now: the server's disk is full or failing."
            return HttpError(503, "storage", message, headers=(("Retry-After", FULL_SECONDS),))
        case DatabaseError():
            message = "The server is busy. Please try again in a few seconds."
            return HttpError(503, "busy", message, headers=(("Retry-After", BUSY_SECONDS),))
    return None


def _contradiction(error: comment_errors.CommentsError) -> HttpError:
    """Say what of a request contradicts what is stored."""
    match error:
        case comment_errors.UnknownParent():
            fault = Fault("unknown_parent")
            return HttpError(400, fault.code, fault, {"parent": fault})
        case comment_errors.KeyConflict():
            message = "This key was used for another comment. Send this one with a new key."
            return HttpError(409, "conflict", message, {"key": message})
        case comment_errors.ThreadClosed():
            return HttpError(400, "closed", Fault("closed"))
        case (
            comment_errors.UnknownComment()
            | comment_errors.UnknownThread()
            | comment_errors.UnknownBan()
        ):
            return HttpError(404, "not_found", f"There is {error}.")
    return HttpError(409, "refused", f"That cannot be done: {error}.")
