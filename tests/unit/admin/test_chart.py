"""The chart on the dashboard: every comment is counted in it, and its size is bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commentsvc.admin import chart
from commentsvc.admin.chart import ABOVE, BELOW, HEIGHT, LEFT, ORDER, RIGHT, WIDTH
from commentsvc.admin.render import short_date
from commentsvc.model import STATUSES

NUMBERS = st.dictionaries(st.sampled_from(STATUSES), st.integers(0, 100_000))


@pytest.mark.parametrize(
    ("most", "distance"),
    [(1, 1), (4, 1), (5, 2), (8, 2), (9, 5), (20, 5), (21, 10), (81, 50), (1_000_000, 500_000)],
)
def test_lines_are_at_round_numbers(most: int, distance: int) -> None:
    assert chart.step(most) == distance


@given(st.lists(NUMBERS, min_size=1, max_size=90))
def test_bars_stand_on_the_ground_and_show_the_numbers(numbers: list[dict[str, int]]) -> None:
    picture = chart.draw([*enumerate(numbers)])
    ground = HEIGHT - BELOW
    top = max(sum(number.values()) for number in numbers)
    per_comment = (ground - picture.lines[-1].at) / max(1, top)
    assert len(picture.boxes) == sum(number > 0 for day in numbers for number in day.values())
    for box in picture.boxes:
        assert LEFT <= box.x <= box.x + box.width <= WIDTH - RIGHT
        assert ABOVE - 0.01 <= box.y <= box.y + box.height <= ground + 0.02
    heights = sum(box.height for box in picture.boxes)
    shown = sum(sum(number.values()) for number in numbers)
    assert heights <= shown * per_comment + 1
    assert len(picture.lines) <= chart.LINES + 1
    assert all(mark.at <= WIDTH for mark in picture.dates)


def test_what_readers_see_stands_lowest() -> None:
    picture = chart.draw([(20_000, dict.fromkeys(STATUSES, 5))])
    assert [box.status for box in picture.boxes] == list(ORDER)
    bottoms = [box.y + box.height for box in picture.boxes]
    assert bottoms == sorted(bottoms, reverse=True)
    assert len({box.height for box in picture.boxes}) == 1


def test_days_without_comments_are_an_empty_picture() -> None:
    picture = chart.draw([(day, {}) for day in range(30)])
    assert not picture.boxes
    assert [line.text for line in picture.lines] == ["0", "1"]


def test_the_last_day_has_its_date() -> None:
    for days in (1, 14, 30, 90):
        picture = chart.draw([(20_000 + day, {}) for day in range(days)])
        assert picture.dates[-1].text == short_date(20_000 + days - 1)
        assert len(picture.dates) <= 8


def test_a_box_tells_its_number_when_it_is_pointed_at() -> None:
    [box] = chart.draw([(20_776, {"spam": 3})]).boxes
    assert box.title == "19 Nov: 3 spam"


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999, "999"), (1_500, "1.5k"), (20_000, "20k")]
)
def test_large_numbers_are_short(number: int, text: str) -> None:
    assert chart.short(number) == text
