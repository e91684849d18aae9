"""Browsers get errors as pages that name the blog and lead back; programs get JSON."""

import re

import pytest

from commentsvc.comments.page_urls import Sites
from commentsvc.http.messages import HttpError, Request, Response, refusal, too_fast
from commentsvc.http.refusals import bodies
from commentsvc.pages.embed import refusal_page
from commentsvc.pages.error_pages import ErrorPages, is_for_person
from commentsvc.settings.schema import Site
from commentsvc.util.i18n import find_language

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ANN = Site(name="ann", title="Ann & Co", origins=("https://ann.example",), language="de")
BOB = Site(name="bob", origins=("https://bob.example",))


def request(query: str = "", **headers: str) -> Request:
    fields = {"accept": BROWSER} | {k.replace("_", "-"): v for k, v in headers.items()}
    return Request("GET", "/x", query, b"", "192.0.2.1", fields.get)


def page(status: int, *sites: Site, query: str = "", **headers: str) -> str:
    error = too_fast(1_793) if status == 429 else HttpError(status, "code", "An exception.")
    answer = ErrorPages(Sites(sites or (ANN,))).in_place_of(
        refusal(error), request(query, **headers)
    )
    assert answer.status == status
    assert dict(answer.headers)["Content-Type"] == "text/html; charset=utf-8"
    assert dict(answer.headers)["Cache-Control"] == "no-store"
    return answer.body.decode()


@pytest.mark.parametrize(
    ("accept", "mode", "person"),
    [
        (BROWSER, None, True),
        (BROWSER, "navigate", True),
        (BROWSER, "cors", False),
        (BROWSER, "no-cors", False),
        ("TEXT/HTML", None, True),
        ("text/html, application/json", None, True),
        ("application/json, text/html", None, False),
        ("application/json, text/html;q=0.9", None, False),
        ("application/json;q=0.5, text/html", None, True),
        ("text/html;q=0", None, False),
        ("text/html;q=x", None, False),
        ("*/*", None, False),
        ("application/json", "navigate", False),
        ("", None, False),
    ],
)
def test_who_prefers_html_and_opens_an_address_is_a_person(
    accept: str, mode: str | None, person: bool
) -> None:
    fields = {"accept": accept} | ({"sec-fetch-mode": mode} if mode else {})
    assert is_for_person(Request("GET", "/", "", b"", "", fields.get)) is person


@pytest.mark.parametrize(
    "status", [400, 401, 403, 404, 405, 409, 410, 413, 415, 421, 429, 431, 500, 502, 503]
)
@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_each_error_names_the_blog_leads_back_and_says_no_exception(
    status: int, language: str
) -> None:
    html = page(status, accept_language=language)
    assert '<a href="https://ann.example/" dir="auto">Ann &amp; Co</a>' in html
    assert f'<html lang="{language}"' in html
    assert "exception" not in html
    assert re.search(r"<h1>[^<]+</h1>\n<p>[^<]+</p>", html)


def test_a_long_wait_is_said_in_minutes() -> None:
    assert "Bitte warte 30 Minuten." in page(429, accept_language="de")
    assert "Please wait 42 seconds." in str(too_fast(42))
    assert "Please wait 3 hours." in str(too_fast(3 * 3_600))


@pytest.mark.parametrize("language", ["en", "de", "ar"])
@pytest.mark.parametrize("status", [413, 429, 500, 503])
def test_a_form_is_refused_without_a_raw_placeholder(status: int, language: str) -> None:
    error = HttpError(status, "code", "An exception.", headers=(("Retry-After", "1793"),))
    html = refusal_page(error, find_language(language), []).body.decode()
    assert "#" not in re.sub(r"&#\d+;|=\"[^\"]*\"|<style.*?</style>", "", html)
    if (status, language) == (429, "de"):
        assert "30 Minuten" in html


def test_of_several_blogs_the_page_names_that_of_the_request_or_all() -> None:
    assert "bob.example" not in page(404, ANN, BOB, query="site=ann")
    assert "ann.example" not in page(404, ANN, BOB, query="url=https%3A%2F%2Fbob.example%2Fp%2F")
    assert "ann.example" not in page(404, ANN, BOB, referer="https://bob.example/p/")
    both = page(404, ANN, BOB, referer="https://evil.example/", query="%")
    assert "https://ann.example/" in both
    assert "https://bob.example/" in both
    assert "evil" not in both


def test_what_is_no_error_or_a_page_already_stays_as_it_is() -> None:
    pages = ErrorPages(Sites((ANN,)))
    own = Response(404, (("Content-Type", "text/html; charset=utf-8"),), b"x")
    for answer in (own, Response(200, (), b"x"), Response(404, (), b"x", tags=("a",))):
        assert pages.in_place_of(answer, request()) is answer
    error = refusal(HttpError(404, "not_found", "x"))
    assert pages.in_place_of(error, request(accept="*/*")) is error


def test_the_core_gets_a_page_in_the_language_of_the_site_for_each_of_its_errors() -> None:
    made = ErrorPages(Sites((ANN,))).made_before(bodies())
    assert made.keys() == bodies().keys()
    assert all(b'lang="de"' in html and b"https://ann.example/" in html for html in made.values())
