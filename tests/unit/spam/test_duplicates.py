"""Finding the same text from other networks, in little memory."""

import msgspec
import pytest

from commentsvc.comments.submission import Submission
from commentsvc.spam import duplicates, score
from commentsvc.spam.duplicates import KEPT_MS, Duplicates

TEXT = "I really like how you explain this, as they do on https://shop.example/ as well."
HERE, THERE, ELSEWHERE = b"abc", b"def", b"ghi"
SENT = Submission(("blog", "/p/"), "Ann", TEXT, "", "", "", None, "", "", "")


def sent(author: str, message: str = TEXT, url: str = "/p/", key: str = "") -> Submission:
    page = ("blog", url)
    return msgspec.structs.replace(SENT, author=author, message=message, page=page, key=key)


def points(memory: Duplicates, submission: Submission, network: bytes, now_ms: int = 0) -> int:
    found = memory.check(submission, network, now_ms, linked="https:" in submission.message)
    return sum(signal.points for signal in found)


def test_the_same_text_from_another_network_is_a_doubt_and_more_so_again() -> None:
    memory = Duplicates()
    assert points(memory, sent("Ann"), HERE) == 0
    assert points(memory, sent("Bob"), THERE) == score.REPEATED
    assert points(memory, sent("Eve"), ELSEWHERE) == score.OFTEN_REPEATED
    assert points(memory, sent("Bob"), THERE) == score.OFTEN_REPEATED


def test_a_person_who_sends_it_twice_is_not_doubted() -> None:
    memory = Duplicates()
    points(memory, sent("Ann"), HERE)
    assert points(memory, sent("Ann", url="/q/"), HERE) == 0
    assert points(memory, sent("Ann", key="another"), HERE) == 0


@pytest.mark.parametrize("key", ["", "a key of the widget"])
def test_a_retry_is_no_second_time_wherever_it_comes_from(key: str) -> None:
    memory = Duplicates()
    for network in (HERE, HERE, THERE):
        assert points(memory, sent("Ann", key=key), network) == 0
    assert points(memory, sent("Bob", key=key and "other"), THERE) == score.REPEATED


def test_what_many_people_say_is_no_doubt() -> None:
    memory = Duplicates()
    for network in (HERE, THERE, ELSEWHERE):
        assert points(memory, sent("Ann", "Thank you, that helped me a lot!"), network) == 0


@pytest.mark.parametrize(("linked", "site"), [(True, ""), (False, "https://shop.example/")])
def test_a_common_sentence_is_no_spam_unless_it_advertises(linked: bool, site: str) -> None:
    common = "Thank you so much for this post, it has really helped me a lot today!"
    memory = Duplicates()
    for network in (HERE, THERE, ELSEWHERE):
        found = memory.check(sent(f"of {network!r}", common), network, 0, linked=False)
    assert [signal.points for signal in found] == [score.COMMON]
    advert = msgspec.structs.replace(sent("Eve", common), site=site)
    [found_advert] = memory.check(advert, b"yet another", 0, linked=linked)
    assert found_advert.points == score.OFTEN_REPEATED


def test_a_long_text_is_doubted_without_any_link_too() -> None:
    memory = Duplicates()
    long = "All that I have to say about it. " * 10
    points(memory, sent("Ann", long), HERE)
    assert points(memory, sent("Bob", long), THERE) == score.REPEATED


def test_a_text_is_remembered_for_a_day() -> None:
    memory = Duplicates()
    points(memory, sent("Ann"), HERE, 0)
    assert points(memory, sent("Bob"), THERE, KEPT_MS + 1) == 0
    assert points(memory, sent("Eve"), ELSEWHERE, 2 * KEPT_MS) == score.REPEATED


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "REMEMBERED", 3)
    memory = Duplicates()
    for n in range(4):
        points(memory, sent("Ann", f"{TEXT} {n}"), HERE)
    assert points(memory, sent("Bob", f"{TEXT} 0"), THERE) == 0
    assert points(memory, sent("Bob", f"{TEXT} 3"), THERE) == score.REPEATED
