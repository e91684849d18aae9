"""Errors to HTTP: the HTTP error for each failure that a client or the database can cause.

A new failure is added here. The router uses `as_http`, and the pages `foreseen`.
"""

from commentsvc import errors
from commentsvc.comments.page_urls import UnknownSiteError, UrlError
from commentsvc.comments.submission import MalformedError, SubmissionError
from commentsvc.db.errors import DatabaseError, DatabaseFull, DatabaseUnwritable
from commentsvc.http.messages import HttpError, too_many
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import pgettext

NOT_PERMITTED = _("Your account may not do this. An owner can give you another role.")
BUSY_SECONDS = "1"  # the writer's queue empties within a second
FULL_SECONDS = "60"  # somebody has to free space first


def as_http(error: Exception) -> HttpError | None:
    """Return the HTTP error for a foreseen exception; None for any other."""
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
        case errors.CommentsError():
            return _contradiction(error)
        case errors.BadCursor():
            message = "This is not where a list can go on. Start again without `after`."
            return HttpError(400, "invalid", message, {"after": message})
        case DatabaseFull():
            full = _(
                "Comments cannot be stored at the moment: the server's disk is full or failing."
            )
            return HttpError(503, "storage", full, headers=(("Retry-After", FULL_SECONDS),))
        case DatabaseUnwritable():
            # The text is shown to strangers; the log of the writer names the fault.
            failing = pgettext("widget.500", "The comment service has a problem. Please try again.")
            return HttpError(503, "storage", failing, headers=(("Retry-After", FULL_SECONDS),))
        case DatabaseError():
            busy = _("The server is busy. Please try again in a few seconds.")
            return HttpError(503, "busy", busy, headers=(("Retry-After", BUSY_SECONDS),))
    return None


def foreseen(error: Exception) -> HttpError:
    """Do as `as_http`, but raise any other exception again."""
    known = as_http(error)
    if known is None:
        raise error
    return known


def _contradiction(error: errors.CommentsError) -> HttpError:
    """Return the HTTP error for a request that contradicts the stored state."""
    match error:
        case errors.UnknownParent():
            unknown = _("The comment that you are answering is not on this page, or no longer.")
            return HttpError(400, "unknown_parent", unknown, {"parent": unknown})
        case errors.KeyConflict():
            message = "This key was used for another comment. Send this one with a new key."
            return HttpError(409, "conflict", message, {"key": message})
        case errors.SubmissionRefused():
            return HttpError(400, error.code, error.message)
        case errors.TooManyPending():
            return too_many(error.message, error.retry_after, "too_many_pending")
        case errors.ThreadClosed():
            return HttpError(
                400, "closed", pgettext("widget.closed", "This page no longer accepts comments.")
            )
        case (
            errors.UnknownComment()
            | errors.UnknownThread()
            | errors.UnknownBan()
            | errors.UnknownNote()
            | errors.UnknownReader()
        ):
            return HttpError(404, "not_found", _("Not found: %(reason)s.", reason=error))
        case errors.NotPermitted():
            return HttpError(403, "not_permitted", NOT_PERMITTED)
    return HttpError(409, "refused", _("That cannot be done: %(reason)s.", reason=error))
