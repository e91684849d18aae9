"""The page about privacy: for sites that say who answers for them, in their language."""

from pathlib import Path

from msgspec.structs import replace

from commentsvc.legal.privacy import privacy
from tests.unit.app_fixture import SETTINGS, served

BLOG, NOTES = SETTINGS.sites
WITH_CONTACT = replace(
    SETTINGS,
    sites=(
        replace(BLOG, contact="Ann <b>Example</b> & Co", language="de"),
        replace(NOTES, language="cs"),
        replace(NOTES, name="third", contact="Bob", language="cs"),
    ),
)


def test_the_page_has_the_text_in_the_language_of_the_site(tmp_path: Path) -> None:
    with served(tmp_path, WITH_CONTACT) as service:
        page = service.get("/privacy")
        html = page.body.decode()
        assert page.status == 200
        assert '<html lang="de"' in html
        assert "Ann &lt;b&gt;Example&lt;/b&gt; &amp; Co" in html
        assert "Was gespeichert wird" in html
        assert privacy(WITH_CONTACT, WITH_CONTACT.sites[0]).version in html
        assert "What is stored" in service.get("/privacy?site=blog&lang=en").body.decode()
        assert 'href="static/page.css"' in html
        assert "Content-Security-Policy" in dict(page.headers)


def test_a_language_without_the_whole_text_has_it_in_english(tmp_path: Path) -> None:
    with served(tmp_path, WITH_CONTACT) as service:
        html = service.get("/privacy?site=third").body.decode()
        assert '<html lang="en"' in html
        assert "Privacy of the comments" in html


def test_a_site_without_a_contact_has_no_page_and_no_link_to_it(tmp_path: Path) -> None:
    with served(tmp_path, WITH_CONTACT) as service:
        assert service.get("/privacy?site=notes").status == 404
        assert service.get("/privacy?site=none").status == 400
        thread = "/embed/thread?url=/p/&view=page&site="
        assert b'href="../privacy?' in service.get(f"{thread}blog").body
        assert b"../privacy" not in service.get(f"{thread}notes").body
