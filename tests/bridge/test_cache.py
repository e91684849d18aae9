"""Rules 5 to 7 of the bridge (core/DESIGN.md): what is cached, by which key, and for how long."""

import gzip
import time

import brotli
import pytest

from commentsvc import _core
from tests.bridge.application import TEXT, await_that, echo, request, running

# Rule 5: the cache key is the target as received; purging goes by tags.


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


def test_a_purge_of_everything_spares_no_answer() -> None:
    with running(echo) as app:
        for target in ["/stored/a", "/stored/b"] * 2:
            app.get(target)
        assert app.drained == 2
        app.server.purge_all()
        for target in ["/stored/a", "/stored/b"] * 2:
            app.get(target)
        assert app.drained == 4


def test_after_the_end_of_a_lease_nothing_is_cached_without_any_call() -> None:
    with running(echo) as app:
        app.server.set_lease(time.monotonic() + 3600)
        for _ in range(2):
            app.get("/stored/a")
        assert app.drained == 1
        end = time.monotonic() + 0.2
        app.server.set_lease(end)
        await_that(lambda: time.monotonic() >= end, "the end of the lease")
        for number in (2, 3):
            app.get("/stored/a")
            app.get("/stored/b")
            assert app.drained == 2 * number - 1
        app.server.set_lease(time.monotonic() + 3600)
        app.get("/stored/a")
        app.get("/stored/b")
        assert app.drained == 6, "what was stored before is used again, and nothing newer was"
        for wrong in (0.0, -1.0, float("nan")):
            with pytest.raises(ValueError, match="lease"):
                app.server.set_lease(wrong)


# Rule 6: only responses with tags are cached.


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


# Rule 7: the cache is bounded, and answers ETags and HEAD.


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


def test_a_short_post_with_tags_is_answered_again_for_the_same_body_alone() -> None:
    with running(echo) as app:
        first = app.post("/stored/a", b"one")
        assert app.post("/stored/a", b"one").body == first.body
        assert app.drained == 1
        app.post("/stored/a", b"two")
        app.get("/stored/a")
        app.post("/stored/b", b"one")
        assert app.drained == 4
        app.server.purge(["a"])
        app.post("/stored/a", b"one", f"If-None-Match: {first.fields['etag']}")
        assert app.drained == 5
        assert app.post("/stored/a", b"one").status == 200
        for _ in range(2):
            app.post("/plain", b"one")
        assert app.drained == 7, "without tags it is not stored"


def test_an_answer_that_varies_by_origin_is_stored_for_each_origin() -> None:
    def answer(call: _core.Request) -> None:
        origin = call.header("origin") or "none"
        varies = [*TEXT, ("Vary", "Origin"), ("Access-Control-Allow-Origin", origin)]
        call.respond(200, varies, origin.encode() + call.body, ["a"])

    origins = ("http://a.example", "http://b.example")
    with running(answer) as app:
        for _ in range(2):
            for origin in origins:
                got = app.get("/x", f"Origin: {origin}")
                assert (got.body, got.fields["access-control-allow-origin"]) == (
                    origin.encode(),
                    origin,
                )
                assert app.post("/x", b"1", f"Origin: {origin}").body == origin.encode() + b"1"
        assert app.drained == 4
        etag = app.get("/x", f"Origin: {origins[0]}").fields["etag"]
        known = app.get("/x", f"Origin: {origins[0]}", f"If-None-Match: {etag}")
        assert (known.status, known.fields["access-control-allow-origin"]) == (304, origins[0])
        assert app.get("/x", f"Origin: {origins[1]}", method="HEAD").body == b""
        assert app.drained == 4
        for _ in range(2):
            assert app.get("/x").body == b"none"
            assert app.get("/x", *(f"Origin: {origin}" for origin in origins)).status == 200
        assert app.drained == 8, "without one origin it is not stored"
        app.server.purge(["a"])
        app.get("/x", f"Origin: {origins[0]}")
        assert app.drained == 9


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


# Variants are cached and purged together, and chosen by Accept-Encoding.

CODED = gzip.compress(b"a" * 2_000, mtime=0)
BRIEF = brotli.compress(b"a" * 2_000)


def coded(call: _core.Request) -> None:
    """Answer with a body and its compressed variants."""
    call.respond(200, TEXT, b"a" * 2_000, ["a"], CODED, BRIEF)


def test_clients_get_the_variant_that_they_prefer() -> None:
    with running(coded) as app:
        for fields, body in (
            ([], b"a" * 2_000),
            (["Accept-Encoding: gzip, deflate"], CODED),
            (["Accept-Encoding: gzip, deflate, br, zstd"], BRIEF),
            (["Accept-Encoding: gzip;q=0"], b"a" * 2_000),
            (["Accept-Encoding: identity;q=0, *"], BRIEF),
        ) * 2:
            answer = app.get("/a", *fields)
            assert answer.body == body
            assert answer.fields["content-length"] == str(len(body))
            assert answer.fields["vary"] == "Accept-Encoding"
            assert answer.fields.get("content-encoding") == {CODED: "gzip", BRIEF: "br"}.get(body)
        assert app.drained == 1


def test_a_miss_gets_the_variant_that_its_client_prefers() -> None:
    with running(coded) as app:
        assert app.get("/a", "Accept-Encoding: gzip").body == CODED
        assert app.get("/a").body == b"a" * 2_000
        assert app.drained == 1


def test_each_variant_has_its_own_etag_and_304() -> None:
    gzip_field, br_field = "Accept-Encoding: gzip", "Accept-Encoding: br"
    with running(coded) as app:
        asked: list[list[str]] = [[], [gzip_field], [br_field]]
        etags = [app.get("/a", *fields).fields["etag"] for fields in asked]
        assert len({*etags}) == 3
        for etag, fields in zip(etags, asked, strict=True):
            answer = app.get("/a", f"If-None-Match: {etag}", *fields)
            assert (answer.status, answer.fields["etag"]) == (304, etag)
            assert answer.fields["vary"] == "Accept-Encoding"
            assert "content-encoding" not in answer.fields
        assert app.get("/a", f"If-None-Match: {etags[1]}").status == 200
        assert app.get("/a", f"If-None-Match: {etags[0]}", gzip_field).status == 200
        assert app.get("/a", f"If-None-Match: {etags[1]}", br_field).status == 200
        head = app.get("/a", gzip_field, method="HEAD")
        assert (head.body, head.fields["etag"]) == (b"", etags[1])
        assert head.fields["content-length"] == str(len(CODED))


def test_a_pipeline_gets_each_variant_in_its_place() -> None:
    asked = [[], ["Accept-Encoding: gzip"], [], ["Accept-Encoding: br"]] * 10
    with running(coded) as app:
        app.get("/a")
        with app.dial() as client:
            client.send(b"".join(request("/a", *fields) for fields in asked))
            bodies = [client.answer().body for _ in asked]
            assert bodies == [b"a" * 2_000, CODED, b"a" * 2_000, BRIEF] * 10


def test_a_purge_takes_all_variants_and_the_bound_counts_them() -> None:
    with running(coded) as app:
        app.get("/a")
        await_that(  # the worker counts a hit after it has sent the answer
            lambda: app.server.stats()["cache_bytes"] > 2_000 + len(CODED) + len(BRIEF),
            "all to be counted",
        )
        app.server.purge(["a"])
        app.get("/a", "Accept-Encoding: gzip")
        app.get("/a")
        assert app.drained == 2


def test_what_is_not_stored_has_no_variant() -> None:
    with running(lambda call: call.respond(200, TEXT, b"plain", (), CODED, BRIEF)) as app:
        answer = app.get("/a", "Accept-Encoding: gzip")
        assert (answer.body, "vary" in answer.fields) == (b"plain", False)
