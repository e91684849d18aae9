"""The record of processing and the facts say what the settings say."""

from typing import Final

import pytest
from msgspec.structs import replace

from commentsvc.legal.record import READ_FIRST, facts, processing
from commentsvc.settings.schema import (
    ModerationSettings,
    OidcSettings,
    Settings,
    Site,
    SpamSettings,
)
from commentsvc.util.i18n import find_language, translate

SITE: Final = Site(contact="Ann, ann@blog.example")
PLAIN: Final = Settings(sites=(SITE,))


def said(make: object, settings: Settings) -> str:
    assert callable(make)
    return str(make(settings, settings.sites[0]).markdown(find_language("en")))


@pytest.mark.parametrize("policy", READ_FIRST)
def test_the_facts_say_who_decides_before_a_comment_is_shown(policy: str) -> None:
    everywhere = replace(PLAIN, moderation=replace(ModerationSettings(), policy=policy))
    here = replace(PLAIN, sites=(replace(SITE, policy=policy),))
    for settings in (everywhere, here):
        text = said(facts, settings)
        assert [each for each in READ_FIRST if translate(READ_FIRST[each]) in text] == [policy]


def test_the_facts_say_what_judges_automatically() -> None:
    plain = said(facts, PLAIN)
    assert "A filter that learns" in plain
    assert "A filter that learns" not in said(facts, replace(PLAIN, spam=SpamSettings(bayes=False)))
    assert "Comments are text only." in plain
    assert "pictures into" in said(facts, replace(PLAIN, sites=(replace(SITE, images=True),)))


def test_the_record_has_the_accounts_of_moderators_too() -> None:
    settings = replace(
        PLAIN,
        moderation=ModerationSettings(session_days=5),
        oidc=OidcSettings(issuer="https://login.example"),
    )
    text = said(processing, settings)
    assert "at most 5 days" in text
    assert "Moderators can sign in with: https://login.example" in text
    assert "sign in with: https" not in said(processing, PLAIN)
    assert "GDPR, articles 28 and 44" in text


def test_the_facts_are_true_where_readers_sign_in_or_write_to_the_author() -> None:
    text = said(facts, PLAIN)
    assert "Readers need no account" in text
    assert "Private notes" not in text
    site = replace(SITE, sign_in=("required",), private_notes=True)
    text = said(facts, replace(PLAIN, sites=(site,)))
    assert "Only readers who have signed in can comment." in text
    assert "Readers need no account" not in text
    assert "no messages between readers" in text
    assert "Private notes to the author of the blog" in text
