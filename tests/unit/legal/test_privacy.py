"""What the privacy text says of each setting, and that no setting is forgotten."""

from typing import Final

import msgspec
import pytest
from msgspec.structs import replace

from commentsvc.legal import privacy as privacy_text
from commentsvc.legal.document import LegalDocument
from commentsvc.legal.privacy import RECEIVED, STORED, privacy
from commentsvc.readers import mailed_comments
from commentsvc.settings.schema import (
    SECTIONS,
    BackupSettings,
    DatabaseSettings,
    HooksSettings,
    InboxSettings,
    JudgeSettings,
    MailSettings,
    ModerationSettings,
    OidcSettings,
    PrivacySettings,
    ServerSettings,
    Settings,
    Site,
    SpamSettings,
)
from commentsvc.util.i18n import find_language, moderators_tags
from commentsvc.util.timestamps import DAY_MS
from tests.test_architecture import SETTINGS_CLIENTS

SITE: Final = Site(origins=("https://blog.example",), contact="Ann, ann@blog.example")
PLAIN: Final = Settings(sites=(SITE,))
# Where the texts of `privacy` and `record` read further settings.
ALSO_READ: Final = "site.contact site.title site.origins server.public_url moderation.edit_minutes"
# Settings that neither store nor send personal data, nor say for how long; those of moderators
# alone (oidc, session_days) are in the record of processing.
NEUTRAL: Final = {
    "server": "listen socket_mode socket_group workers trusted_proxies monitoring_networks"
    " proxy_protocol hsts redirect_listen cache_mib max_connections max_streams"
    " max_network_streams miss_limit keep_alive stop_grace max_body_kib max_client_mib"
    " cache_control",
    "database": "synchronous checkpoint_pages coherence",
    "comments": "author_length message_length list_limit image_kib images_mib votes",
    "moderation": "policy trust_after protected_names session_days",
    "spam": "rate_limit site_rate_limit vote_limit pending_limit max_links blocked_words scripts"
    " duplicates bayes form_token proof_of_work spam_score classifier_seconds",
    "judge": "model key_file",
    "mail": "port security user password ca_file sender moderators digest language templates"
    " reply_notifications",
    "inbox": "port security user password token_command ca_file folder hook_secret",
    "hooks": "secret ntfy_token telegram_chat telegram_decides allowed_networks",
    "oidc": "issuer client_id client_secret name",
    "readers": "client_id client_secret name",
    "mentions": "bluesky_service allowed_networks",
    "stacosys": "redirect rss_file",
    "auth": "secret_key",
    "site": "name language trailing_slash policy close_days reactions views math build_hooks"
    " numbers build_delay translations waline artalk social_sitemap moved_pages token name_field"
    " email_field website_field guidelines agreement sso_secret",
}
# Each module that sends requests to addresses of the settings, and the settings in the texts that
# speak of it; "" where it sends nothing about readers.
SENDERS: Final = {
    "admin.provider": "",
    "admin.snippet": "",
    "api.avatars": "site.avatar_url",
    "auth.oidc": "readers.issuer",
    "blog.unlisted": "",
    "blog.translations": "",
    "cli.legal": "",
    "cli.moved_pages": "",
    "cli.translations": "",
    "delivery.akismet": "spam.akismet_key",
    "delivery.builds": "",
    "delivery.classifier": "spam.classifier_url",
    "delivery.judge": "judge.url",
    "delivery.telegram_buttons": "hooks.telegram_token",
    "delivery.webhooks": "hooks.webhooks hooks.ntfy hooks.telegram_token hooks.slack hooks.discord",
    "imports.importer": "",
    "imports.sources.blog_pages": "",
    "mentions.page_posts": "",
    "mentions.poller": "",
    "pages.reader_sign_in": "readers.issuer",
    "util.polite_client": "",
}


def covered() -> set[str]:
    return {name for _lines, names in (*STORED, *RECEIVED) for name in names.split()}


def said(settings: Settings) -> str:
    return document(settings).markdown(find_language("en"))


def document(settings: Settings) -> LegalDocument:
    return privacy(settings, settings.sites[0])


def test_each_setting_has_its_sentence_or_concerns_no_personal_data() -> None:
    every = {
        f"{section}.{field.name}"
        for section, struct in SECTIONS.items()
        for field in msgspec.structs.fields(struct)
    }
    neutral = {f"{section}.{name}" for section, names in NEUTRAL.items() for name in names.split()}
    assert covered() | {*ALSO_READ.split()} | neutral == every
    assert not neutral & covered()


def test_each_client_for_addresses_of_the_settings_is_known_to_the_texts() -> None:
    assert set(SENDERS) == SETTINGS_CLIENTS
    assert {name for names in SENDERS.values() for name in names.split()} <= covered()


def of_site(**fields: object) -> Settings:
    return replace(PLAIN, sites=(replace(SITE, **fields),))


URL = "https://secret-user:secret@there.example/secret/path"
# Settings by the name of the one that is tried, and what the text says only with it.
TRIED: Final[dict[str, tuple[Settings, str]]] = {
    "spam.keep_spam_days": (replace(PLAIN, spam=SpamSettings(keep_spam_days=7)), "most: 7 days"),
    "privacy.keep_network_days": (
        replace(PLAIN, privacy=PrivacySettings(keep_network_days=9)),
        "stored. Kept for at most: 9 days.",
    ),
    "site.images": (of_site(images=True), "Pictures in comments."),
    "site.private_notes": (of_site(private_notes=True), "They are not published."),
    "site.comments_by_mail": (
        of_site(comments_by_mail=True),
        "to limit their number. Kept for at most: 30 days.",
    ),
    "mail.host": (replace(PLAIN, mail=MailSettings(host="there.example")), "there.example"),
    "site.sign_in": (of_site(sign_in=("mail",)), "Of readers who sign in"),
    "site.webmentions": (of_site(webmentions=True), "Replies on other sites"),
    "site.social_accounts": (of_site(social_accounts=("a.example",)), "Replies on other sites"),
    "site.social_posts": (of_site(social_posts=(f"/p/ {URL}",)), "Replies on other sites"),
    "backup.directory": (
        replace(PLAIN, backup=BackupSettings(directory="/secret")),
        "this. Kept for at most: 14 days.",
    ),
    "backup.every": (
        replace(PLAIN, backup=BackupSettings(directory="/b", every="hourly")),
        "this. Kept for at most: 1 day.",
    ),
    "backup.keep": (
        replace(PLAIN, backup=BackupSettings(directory="/b", every="weekly", keep=2)),
        "this. Kept for at most: 14 days.",
    ),
    "site.isso": (of_site(isso=True), "A cookie lets authors"),
    "database.url": (
        replace(PLAIN, database=DatabaseSettings(url="postgresql://u:secret@there.example/x")),
        "in a database at: there.example",
    ),
    "inbox.address": (
        replace(PLAIN, inbox=InboxSettings(address="c@blog.example", host="there.example")),
        "Mail servers that send and receive the mails: there.example",
    ),
    "inbox.host": (
        replace(PLAIN, inbox=InboxSettings(address="c@blog.example", host="in.example")),
        "in.example",
    ),
    "spam.akismet_key": (replace(PLAIN, spam=SpamSettings(akismet_key="secret")), "akismet.com"),
    "spam.classifier_url": (
        replace(PLAIN, spam=SpamSettings(classifier_url=URL)),
        "To recognise spam, these get the name, website, page and text of each comment:"
        " there.example",
    ),
    "judge.url": (
        replace(PLAIN, judge=JudgeSettings(url=URL, model="m")),
        "A language model judges each comment before it is shown. It gets the name, website, page"
        " and text. It is at: there.example",
    ),
    "hooks.webhooks": (replace(PLAIN, hooks=HooksSettings(webhooks=(URL,))), "there.example"),
    "hooks.ntfy": (replace(PLAIN, hooks=HooksSettings(ntfy=URL)), "there.example"),
    "hooks.telegram_token": (
        replace(PLAIN, hooks=HooksSettings(telegram_token="secret")),
        "api.telegram.org",
    ),
    "hooks.slack": (replace(PLAIN, hooks=HooksSettings(slack=URL)), "there.example"),
    "hooks.discord": (replace(PLAIN, hooks=HooksSettings(discord=URL)), "there.example"),
    "readers.issuer": (
        replace(of_site(sign_in=("provider",)), readers=OidcSettings(issuer=URL)),
        "there.example",
    ),
    "site.sso_url": (of_site(sign_in=("blog",), sso_url=URL), "there.example"),
    "site.avatar_url": (of_site(avatar_url=URL), "there.example"),
    "site.notices": (of_site(notices=True), "Of readers who report a comment"),
    "site.send_webmentions": (of_site(send_webmentions=True), "Sites to which a published"),
}


def test_each_setting_of_the_tables_is_tried() -> None:
    assert set(TRIED) == covered()


@pytest.mark.parametrize("name", TRIED)
def test_a_setting_that_stores_or_sends_personal_data_is_in_the_text(name: str) -> None:
    settings, sentence = TRIED[name]
    assert sentence in said(settings)
    assert sentence not in said(PLAIN)
    assert "secret" not in said(settings), "only the host of an address is named"
    assert document(settings).version != document(PLAIN).version


def test_it_says_how_long_the_digest_of_a_sender_is_kept() -> None:
    assert privacy_text.COMMENTS_BY_MAIL_KEPT * DAY_MS == mailed_comments.KEPT


def test_hosts_of_the_operators_own_are_no_recipients() -> None:
    for host in ("localhost", "127.0.0.1", "10.1.2.3", "[::1]", "db", "db.internal"):
        settings = replace(
            PLAIN,
            database=DatabaseSettings(url=f"postgresql://u@{host}/x"),
            spam=SpamSettings(classifier_url=f"http://{host}:8000/"),
        )
        assert said(settings) == said(PLAIN), host


def test_a_language_model_on_the_own_machine_is_said_too() -> None:
    settings = replace(PLAIN, judge=JudgeSettings(url="http://127.0.0.1:11434/v1", model="m"))
    assert "A language model judges each comment" in said(settings)


def test_nothing_is_said_of_what_has_no_end() -> None:
    settings = replace(
        PLAIN,
        spam=SpamSettings(keep_spam_days=0),
        privacy=PrivacySettings(keep_network_days=0),
        moderation=ModerationSettings(edit_minutes=0),
    )
    text = said(settings)
    assert "replies stay longer.\n" in text
    assert "hash of the network" not in text
    assert "change or delete" not in text


def test_the_rights_name_the_page_for_own_data_if_mails_are_sent() -> None:
    mail = replace(PLAIN, mail=MailSettings(host="smtp.example"))
    served = replace(mail, server=ServerSettings(public_url="https://c.example/"))
    assert "https://c.example/mail/own" in said(served)
    assert "/mail/own" not in said(mail)


@pytest.mark.parametrize("tag", moderators_tags())
def test_the_text_is_whole_in_each_language_of_the_moderation_pages(tag: str) -> None:
    made = document(PLAIN)
    text, english = made.markdown(find_language(tag)), said(PLAIN)
    assert made.version in text
    assert SITE.contact in text
    same = set(filter(None, text.splitlines())) & set(english.splitlines())
    assert tag == "en" or same <= {f"Version: {made.version}"}
