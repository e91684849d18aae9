"""The errors of requests that contradict the stored state.

CommentsError
  UnknownSite      no site of that name is configured
  UnknownParent    the comment answered to is not in this thread, or was deleted
  KeyConflict      the key was used before, for other content
  SubmissionRefused  a spam check refuses the submission
  TooManyPending   too many comments of its author, or of its site, are pending
  ThreadClosed     the thread takes no more comments
  UnknownComment   no comment has that id
  UnknownNote      no private note has that id
  NothingToUndo    there is no such change, or it was undone before
  UnknownThread    there is no thread for that url
  UrlTaken         there are comments under that url already
  BanRefused       that cannot be banned
  UnknownBan       no ban has that id
  UnknownReader    no reader who has signed in has that id
  NoteRefused      that cannot be an internal note, or the comment has too many
  NotAnswerable    a comment that readers do not see cannot be answered
  NotPinnable      only a published comment that replies to none can be pinned
  NotPermitted     the account's role does not permit that
  ProfileRefused   a moderator's comments cannot be shown with that profile
  TooManyVotes     that network has all the votes that it may have on this comment
    ReactedBefore  the same, where votes are reactions
  ImagesFull       the site has no room for another image
  ImagesWait       that network has all the images that may wait for approval
  TooManyReactions  that network has all the reactions that it may have on this page
BadCursor          `after` is not a cursor of our lists, or is one of another order
"""

from collections.abc import Sequence

from commentsvc.util.i18n import Message
from commentsvc.util.i18n import gettext as _


class CommentsError(Exception):
    """A request contradicts the stored state."""


class UnknownSite(CommentsError):
    """No site of that name is configured."""


class UnknownParent(CommentsError):
    """The comment answered to is not in this thread, or was deleted."""


class KeyConflict(CommentsError):
    """The key was used before, for other content."""


class SubmissionRefused(CommentsError):
    """A spam check refuses a submission; `code` is for programs, `message` for its author."""

    def __init__(self, code: str, message: Message) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class TooManyPending(CommentsError):
    """Too many comments of a network or a site are pending; `retry_after` is in seconds."""

    def __init__(self, message: Message, retry_after: int) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


class ThreadClosed(CommentsError):
    """The thread takes no more comments."""


class BadCursor(Exception):
    """`after` is not a cursor of our lists, or is one of another order."""


class UnknownComment(CommentsError):
    """No comments have these `ids`."""

    def __init__(self, ids: Sequence[int]) -> None:
        super().__init__(_("no comment has the id %(id)s", id=", ".join(map(str, ids))))
        self.ids = tuple(ids)


class UnknownNote(CommentsError):
    """No private note has that id, or it belongs to another account's site."""


class NothingToUndo(CommentsError):
    """There is no such decision or change, or it was undone before."""


class UnknownThread(CommentsError):
    """There is no thread for this url."""


class UrlTaken(CommentsError):
    """There are comments under this url already: merge the threads instead."""


class BanRefused(CommentsError):
    """The given value cannot be banned; the text says why."""


class UnknownBan(CommentsError):
    """No ban has this id."""


class UnknownReader(CommentsError):
    """No reader who has signed in has this id."""


class NoteRefused(CommentsError):
    """A moderator's note cannot be stored; the text says why."""


class NotAnswerable(CommentsError):
    """The comment is spam or deleted: restore or approve it first."""


class NotPinnable(CommentsError):
    """Only a published comment that replies to none can be pinned."""


class NotPermitted(CommentsError):
    """The role of an account does not permit that."""


class ProfileRefused(CommentsError):
    """A moderator's comments cannot be shown with this profile; the text says why."""


class TooManyVotes(CommentsError):
    """The network has reached the limit of votes on this comment."""

    def __init__(self) -> None:
        super().__init__(
            _("your network has already voted on this comment, or it was written there")
        )


class ReactedBefore(TooManyVotes):
    """The network has reached the limit of reactions on this comment."""

    def __init__(self) -> None:
        CommentsError.__init__(
            self, _("your network has already reacted to this comment, or it was written there")
        )


class ImagesFull(CommentsError):
    """The site has no room for another image."""


class ImagesWait(CommentsError):
    """The network has its share of the images that are in no approved comment, or new."""


class TooManyReactions(CommentsError):
    """The network has reached the limit of reactions on this page."""

    def __init__(self) -> None:
        super().__init__(_("your network has reacted to this page many times"))
