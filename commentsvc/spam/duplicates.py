"""Duplicates: the same text, sent from another network.

A person sends a text once, a bot sends it to many pages. A hash of each long enough text is kept in
memory for a day, with its sender; a restart deletes them. A network that sends its own text again
gets no points: people do so when they are not sure that it arrived, and the rate limit counts it.
Neither does a retry, which has the same key, or the same author and page.

Many people write the same sentence or two. Such a text without a link gets few points, however
often it is sent.

Python's own hash is enough: its key is new in each process, so nobody can construct collisions.
"""

from collections import OrderedDict

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.score import Signal
from commentsvc.util.timestamps import DAY_MS

LENGTH = 50  # characters; many people say "Thank you, that helped me a lot!"
COMMON_LENGTH = 200  # characters; below it a text without any link may still be a common sentence
REMEMBERED = 10_000  # texts, about 3 MiB
KEPT_MS = DAY_MS  # milliseconds for which a text is remembered


class Duplicates:
    """Remembers texts, and finds repeated ones."""

    def __init__(self) -> None:
        # By a text's hash: until when it is remembered, the network and the submission that sent it
        # first, and how many others sent it. The order is that of the last time; LRUCache of
        # cachetools would make each submission a hundredth slower.
        self._seen: OrderedDict[int, tuple[int, bytes, int, int]] = OrderedDict()

    def check(
        self, submission: Submission, network: bytes, now_ms: int, *, linked: bool
    ) -> list[Signal]:
        """Return a signal if the text of a submission was sent before; `now_ms` is monotonic.

        `linked` says whether the text has links.
        """
        if len(submission.message) < LENGTH:
            return []
        text = hash(submission.message)
        itself = submission.fingerprint()
        until, first, original, others = self._seen.pop(text, (now_ms, network, itself, 0))
        if until < now_ms:
            first, original, others = network, itself, 0
        again = network != first and itself != original
        self._seen[text] = (now_ms + KEPT_MS, first, original, others + again)
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        if not again:
            return []
        if not linked and not submission.site and len(submission.message) < COMMON_LENGTH:
            return [Signal(score.COMMON, "common")]
        points = score.OFTEN_REPEATED if others else score.REPEATED
        return [Signal(points, "repeated")]
