"""An object lasts until it would be made from other arguments."""

from commentsvc.util.lasting import Lasting
from commentsvc.util.ratelimit import NetworkLimiter, RateLimiter


def test_an_object_is_made_anew_only_from_other_arguments() -> None:
    lasting = Lasting()
    first = lasting.get("votes", RateLimiter, "3/day")
    assert lasting.get("votes", RateLimiter, "3/day") is first
    assert lasting.get("views", RateLimiter, "3/day") is not first
    changed = lasting.get("votes", RateLimiter, "4/day", times=2)
    assert changed is not first
    assert lasting.get("votes", RateLimiter, "4/day", times=2) is changed
    assert isinstance(lasting.get("votes", NetworkLimiter, "4/day"), NetworkLimiter)
