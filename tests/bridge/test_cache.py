"""Rules 5 to 7 of the seam (core/DESIGN.md): what is stored, under which key, for how long."""

import pytest

from commentsvc import _core
from tests.bridge.application import (
    TEXT,
    echo,
    request,
    running,
)

# Rule 5: the key is the target as received, the tag is what purging goes by.


def test_one_tag_purges_every_spelling_and_no_other_page() -> None:
    spellings = ["/stored/x/a", "/stored/y/a", "/stored/x/a?b=c", "/stored/x/a?B=c"]
    with running(echo) as app:
        for target in [*spellings, "/stored/other"] * 2:
            app.get(target)
        assert app.drained == 5
        app.server.purge(["a"])
        for target in [*spellings, "/stored/other"]:
            app.get(target)
        assert app.drained == 9


def test_an_answer_with_many_tags_goes_with_any_of_them() -> None:
    tags = [f"page{number}" for number in range(128)]
    with running(lambda call: call.respond(200, TEXT, b"batch", tags)) as app:
        for tag in ("page0", "page77", "page127"):
            app.get("/batch")
            app.server.purge([tag])
        app.get("/batch")
        app.get("/batch")
        assert app.drained == 4


# Rule 6: only what carries tags is stored.


@pytest.mark.parametrize(
    ("method", "status", "tags"),
    [("GET", 200, []), ("GET", 404, ["a"]), ("POST", 200, ["a"]), ("OPTIONS", 200, ["a"])],
)
def test_what_is_not_the_same_for_everybody_is_never_stored(
    method: str, status: int, tags: list[str]
) -> None:
    with running(lambda call: call.respond(status, TEXT, b"", tags)) as app:
        for _ in range(3):
            answer = app.get("/page", method=method)
            assert answer.status == status
            assert "etag" not in answer.fields
        assert app.drained == 3
        assert app.server.stats()["cache_entries"] == 0


# Rule 7: a bounded store that answers ETags and HEAD.


def test_if_none_match_and_head_are_answered_without_python() -> None:
    with running(echo) as app:
        first = app.get("/stored/a")
        etag = first.fields["etag"]
        for value in (etag, f"W/{etag}", f'"x", {etag}', "*"):
            answer = app.get("/stored/a", f"If-None-Match: {value}")
            assert (answer.status, answer.body, answer.fields["etag"]) == (304, b"", etag)
        assert app.get("/stored/a", 'If-None-Match: "x"').status == 200
        head = app.get("/stored/a", method="HEAD")
        assert (head.status, head.body) == (200, b"")
        assert head.fields["content-length"] == first.fields["content-length"]
        assert app.drained == 1
        assert app.server.stats()["misses"] == 1


def test_a_miss_that_the_client_knows_already_is_304_too() -> None:
    with running(echo) as app:
        etag = app.get("/stored/a").fields["etag"]
        app.server.purge(["a"])
        assert app.get("/stored/a", f"If-None-Match: {etag}").status == 304
        assert app.drained == 2


def test_the_store_stays_under_its_bytes_and_keeps_what_is_read_often() -> None:
    def answer(call: _core.Request) -> None:
        call.respond(200, TEXT, b"x" * 1000, ["all"])

    with running(answer, cache_bytes=1 << 20) as app, app.dial() as client:
        for number in range(4000):
            targets = ["/often", f"/once/{number}"]
            client.send(b"".join(map(request, targets)))
            for _ in targets:
                client.answer()
        stats = app.server.stats()
        assert stats["cache_bytes"] <= 1 << 20
        assert stats["evictions"] > 1000
        assert stats["hits"] >= 3999
