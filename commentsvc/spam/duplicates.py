"""Duplicates: the same text, from another network.

A person says a thing once, a program says it everywhere. Of each text of some length we
keep a hash, and who sent it, for a day, in memory; a restart forgets. That a network sends its own
text again is no doubt: people do when they are not sure that it arrived, and the rate limit counts
them. A retry, known by its key or by its author and page, is none either.

Many people say the same sentence or two. Without a link that weighs little, however often it comes.

Python's own hash is enough: it is keyed anew in each process, so nobody can make texts collide.
"""

from collections import OrderedDict

from commentsvc.comments.submission import Submission
from commentsvc.spam import score
from commentsvc.spam.score import Signal
from commentsvc.util.timestamps import DAY_MS

LENGTH = 50  # characters; many people say "Thank you, that helped me a lot!"
COMMON_LENGTH = 200  # characters; below it a text without any link may still be a common sentence
REMEMBERED = 10_000  # texts, about 3 MiB
KEPT_MS = DAY_MS  # for which a text is remembered after it came


class Duplicates:
    """Remembers texts."""

    def __init__(self) -> None:
        # A text's hash -> until when it is remembered, the network and the submission that sent
        # it first, and how many others did. In the order in which they came last; LRUCache of
        # cachetools costs each submission a hundredth more.
        self._seen: OrderedDict[int, tuple[int, bytes, int, int]] = OrderedDict()

    def check(
        self, submission: Submission, network: bytes, now_ms: int, *, linked: bool
    ) -> list[Signal]:
        """See whether its text was sent before; `now_ms` is monotonic.

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
