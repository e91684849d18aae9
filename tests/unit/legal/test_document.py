"""Markdown that no setting can break, and the comparison with what a blog made of it."""

import re

from commentsvc.legal import document
from commentsvc.legal.document import FACTS, PRIVACY, VERSION, LegalDocument, Section, plain
from commentsvc.legal.privacy import privacy
from commentsvc.markup.markdown import render
from commentsvc.settings.schema import Settings, Site
from commentsvc.util.i18n import find_language, gettext

ENGLISH, GERMAN = find_language("en"), find_language("de")


def made(contact: str = "Ann", title: str = "My blog") -> LegalDocument:
    site = Site(title=title, contact=contact)
    return privacy(Settings(sites=(site,)), site)


def test_the_version_is_the_same_in_all_languages_and_another_after_each_change() -> None:
    for language in (ENGLISH, GERMAN):
        assert made().version in made().markdown(language)
    others = {made().version, made("Bob").version, made(title="Another").version}
    assert len(others) == 3
    assert all(VERSION.fullmatch(each) for each in others)
    section = Section(gettext("Rights"), ((gettext("Comments"),),))
    versions = {
        LegalDocument(kind, gettext("Rights"), (section,)).version for kind in (PRIVACY, FACTS)
    }
    assert len({each.partition("-")[2] for each in versions}) == 1, "the kind stands before it"


def test_nothing_in_the_settings_becomes_markup() -> None:
    for hostile in ("<b>x</b>", "[x](https://e.example)", "*x*", "_x_", "`x`", "\\*x*", "![x](y)"):
        html = render(made(hostile).markdown(ENGLISH))
        assert not re.search("<(b|em|code|img)>|<img|>x</a>", html), hostile
        assert plain(html).count(hostile) == 2, "it is shown as it is"


def test_an_email_address_stays_as_it_is() -> None:
    assert "ann_b.c@blog.example" in made("ann_b.c@blog.example").markdown(ENGLISH)


def test_a_published_page_lacks_nothing_however_the_blog_wrote_it() -> None:
    for language in (ENGLISH, GERMAN):
        html = render(made().markdown(language)).replace("’", "&rsquo;").replace(" ", "\n ")
        assert not document.difference([made()], [ENGLISH, GERMAN], document.plain(html))


def test_the_sentences_that_a_published_text_lacks_are_those_of_its_own_language() -> None:
    published = made("Ann").markdown(GERMAN)
    lacking = document.difference([made("Bob")], [ENGLISH, GERMAN], published)
    assert len(lacking) == 2
    assert all("Bob" in each for each in lacking)
    assert lacking[0].startswith("Verantwortlich")
