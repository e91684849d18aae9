"""The settings as structs: the only list of them.

The annotations say what is allowed, both to the program (`Meta`) and to the operator (its
`description`), so that names, bounds and messages cannot contradict each other. `loader` fills the
structs.
"""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from commentsvc.settings.types import (
    ADDRESS,
    ADDRESSES,
    ANSWERED,
    BASE_URL,
    COMMAND,
    DATABASE_URL,
    GROUP,
    GUIDELINES,
    HEADER,
    HOOK_SECRET,
    HOST,
    HSTS,
    KEY,
    LANGUAGE,
    LISTEN,
    LISTEN_OR_NOT,
    MODE,
    NAME,
    NETWORKS,
    ORIGINS,
    PATH,
    PROTECTED,
    PROXIES,
    RATE,
    REACTIONS,
    READ,
    REDIRECT,
    REQUIRED,
    SECRET,
    SECRET_URL,
    SECRET_URLS,
    SHARED_SECRET,
    SIGN_IN,
    SIGN_IN_METHODS,
    SOCIAL_ACCOUNTS,
    SOCIAL_POSTS,
    STRANGERS,
    SWITCH,
    TITLE,
    TOKEN,
    UNWANTED,
    URL,
    USER,
    AskedField,
    whole,
    words,
)


class ServerSettings(Struct, frozen=True, kw_only=True):
    """The HTTP server. Times are in seconds."""

    listen: Annotated[str, LISTEN] = "127.0.0.1:8080"
    socket_mode: Annotated[str, MODE] = ""
    socket_group: Annotated[str, GROUP] = ""
    public_url: Annotated[str, BASE_URL] = ""
    workers: Annotated[int, whole(1, 64)] = 1
    trusted_proxies: Annotated[tuple[str, ...], PROXIES] = ("unix", "127.0.0.0/8", "::1/128")
    monitoring_networks: Annotated[tuple[str, ...], NETWORKS] = ()
    proxy_protocol: Annotated[bool, SWITCH] = False
    hsts: Annotated[str, HSTS] = ""
    redirect_listen: Annotated[str, LISTEN_OR_NOT] = ""
    cache_mib: Annotated[int, whole(1, 65_536, "MiB")] = 8
    max_connections: Annotated[int, whole(16, 1_000_000)] = 20_000
    max_streams: Annotated[int, whole(0, 1_000_000)] = 5_000
    max_network_streams: Annotated[int, whole(0, 1_000_000)] = 500
    miss_limit: Annotated[str, RATE] = "6000/minute"
    keep_alive: Annotated[int, whole(1, 3_600, "seconds")] = 75
    stop_grace: Annotated[int, whole(0, 600, "seconds")] = 10
    max_body_kib: Annotated[int, whole(16, 65_536, "KiB")] = 256
    max_client_mib: Annotated[int, whole(1, 65_536, "MiB")] = 64
    cache_control: Annotated[str, HEADER] = "no-cache"


class DatabaseSettings(Struct, frozen=True, kw_only=True):
    """The database: a file in the data folder, or at the `url` of a PostgreSQL."""

    url: Annotated[str, DATABASE_URL] = ""
    synchronous: Annotated[Literal["full", "normal"], Meta(description='"full" or "normal"')] = (
        "full"
    )
    checkpoint_pages: Annotated[int, whole(0, 1_000_000)] = 16_000
    coherence: Annotated[
        Literal["strict", "bounded"], Meta(description='"strict" or "bounded"')
    ] = "strict"

    def __repr__(self) -> str:
        return "Database(...)"


class Site(Struct, frozen=True, kw_only=True):
    """A blog. `origins` are in lower case, without a default port or a slash at the end."""

    name: Annotated[str, NAME] = "blog"
    origins: Annotated[tuple[str, ...], ORIGINS] = ()
    title: Annotated[str, TITLE] = ""
    contact: Annotated[str, TITLE] = ""
    language: Annotated[str, LANGUAGE] = "en"
    trailing_slash: Annotated[
        Literal["keep", "add", "remove"], Meta(description='"keep", "add" or "remove"')
    ] = "keep"
    policy: Annotated[
        Literal["", "all", "first", "suspicious", "none"],
        Meta(description='"", "all", "first", "suspicious" or "none"'),
    ] = ""
    close_days: Annotated[int, whole(0, 36_500, "days")] = 0
    reactions: Annotated[tuple[str, ...], REACTIONS] = ()
    views: Annotated[bool, SWITCH] = False
    math: Annotated[bool, SWITCH] = False
    images: Annotated[bool, SWITCH] = False
    avatar_url: Annotated[str, URL] = ""
    build_hooks: Annotated[tuple[str, ...], SECRET_URLS] = ()
    build_delay: Annotated[int, whole(1, 86_400, "seconds")] = 60
    isso: Annotated[bool, SWITCH] = False
    waline: Annotated[bool, SWITCH] = False
    artalk: Annotated[bool, SWITCH] = False
    webmentions: Annotated[bool, SWITCH] = False
    send_webmentions: Annotated[bool, SWITCH] = False
    social_accounts: Annotated[tuple[str, ...], SOCIAL_ACCOUNTS] = ()
    social_posts: Annotated[tuple[str, ...], SOCIAL_POSTS] = ()
    social_sitemap: Annotated[str, URL] = ""
    moved_pages: Annotated[bool, SWITCH] = True
    translations: Annotated[bool, SWITCH] = False
    private_notes: Annotated[bool, SWITCH] = False
    notices: Annotated[bool, SWITCH] = False
    numbers: Annotated[bool, SWITCH] = False
    comments_by_mail: Annotated[bool, SWITCH] = False
    token: Annotated[str, TOKEN] = ""
    name_field: Annotated[AskedField, words("hidden", "optional", "required")] = "required"
    email_field: Annotated[AskedField, words("hidden", "optional", "required")] = "optional"
    website_field: Annotated[AskedField, words("hidden", "optional", "required")] = "optional"
    guidelines: Annotated[str, GUIDELINES] = ""
    agreement: Annotated[str, TITLE] = ""
    sign_in: Annotated[tuple[str, ...], SIGN_IN] = ()
    sso_url: Annotated[str, URL] = ""
    sso_secret: Annotated[str, SHARED_SECRET] = ""

    def __repr__(self) -> str:
        return f"Site({self.name!r}, ...)"

    @property
    def origin(self) -> str:
        """The origin of the blog's pages, the first of `origins`; `""` if there is none."""
        return self.origins[0] if self.origins else ""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods to sign in that readers may have; all if `sign_in` only says "required"."""
        if self.sign_in == (REQUIRED,):
            return SIGN_IN_METHODS
        return tuple(word for word in self.sign_in if word != REQUIRED)

    @property
    def members_only(self) -> bool:
        """Whether only readers who have signed in may write."""
        return REQUIRED in self.sign_in


def origins(sites: Iterable[Site]) -> dict[str, str]:
    """Return the origin of each site by its name, see `Site.origin`."""
    return {site.name: site.origin for site in sites}


# How long a language model may take: a local one reads and writes a few words per second.
JUDGE_SECONDS: Final = 30


Votes = Literal["off", "up", "both", "reactions"]


class CommentsSettings(Struct, frozen=True, kw_only=True):
    """Limits of a comment and of a list of comments."""

    author_length: Annotated[int, whole(1, 1_000, "characters")] = 80
    message_length: Annotated[int, whole(1, 100_000, "characters")] = 8_000
    list_limit: Annotated[int, whole(1, 10_000)] = 1_000
    image_kib: Annotated[int, whole(64, 60_000, "KiB")] = 8_192
    images_mib: Annotated[int, whole(1, 1_000_000, "MiB")] = 500
    votes: Annotated[Votes, words("off", "up", "both", "reactions")] = "up"


class ModerationSettings(Struct, frozen=True, kw_only=True):
    """Which comments wait for a moderator, and how long an author may change a comment."""

    policy: Annotated[
        Literal["all", "first", "suspicious", "none"],
        Meta(description='"all", "first", "suspicious" or "none"'),
    ] = "all"
    trust_after: Annotated[int, whole(1, 1_000)] = 1
    edit_minutes: Annotated[int, whole(0, 10_080, "minutes")] = 15
    protected_names: Annotated[tuple[str, ...], PROTECTED] = ()
    session_days: Annotated[int, whole(1, 365, "days")] = 30


class SpamSettings(Struct, frozen=True, kw_only=True):
    """Which comments are held or refused."""

    rate_limit: Annotated[str, RATE] = "10/minute"
    site_rate_limit: Annotated[str, RATE] = "60/minute"
    vote_limit: Annotated[str, RATE] = "60/hour"
    pending_limit: Annotated[str, RATE] = "20/day"
    max_links: Annotated[int, whole(0, 1_000)] = 3
    blocked_words: Annotated[tuple[str, ...], UNWANTED] = ()
    scripts: Annotated[tuple[str, ...], READ] = ()
    duplicates: Annotated[bool, SWITCH] = True
    bayes: Annotated[bool, SWITCH] = True
    form_token: Annotated[
        Literal["off", "judge", "hold", "require"],
        Meta(description='"off", "judge", "hold" or "require"'),
    ] = "judge"  # noqa: S105 - a mode, no password
    proof_of_work: Annotated[int, whole(0, 1_000)] = 100
    spam_score: Annotated[int, whole(0, 100)] = 9
    keep_spam_days: Annotated[int, whole(0, 3_650, "days")] = 30
    akismet_key: Annotated[str, SECRET] = ""
    classifier_url: Annotated[str, SECRET_URL] = ""
    classifier_seconds: Annotated[int, whole(1, 60, "seconds")] = 10

    def __repr__(self) -> str:
        return "Spam(...)"


class JudgeSettings(Struct, frozen=True, kw_only=True):
    """A language model that judges comments before they are shown."""

    url: Annotated[str, SECRET_URL] = ""
    model: Annotated[str, USER] = ""
    key_file: Annotated[str, PATH] = ""

    def __repr__(self) -> str:
        return f"Judge({self.model!r}, ...)"


class PrivacySettings(Struct, frozen=True, kw_only=True):
    """What is stored about authors, and for how long."""

    keep_network_days: Annotated[int, whole(0, 365, "days")] = 30


class MailSettings(Struct, frozen=True, kw_only=True):
    """The SMTP server for our mails, and who gets them."""

    host: Annotated[str, HOST] = ""
    port: Annotated[int, whole(1, 65_535)] = 587
    security: Annotated[Literal["starttls", "tls", "none"], words("starttls", "tls", "none")] = (
        "starttls"
    )
    user: Annotated[str, USER] = ""
    password: Annotated[str, SECRET] = ""
    ca_file: Annotated[str, PATH] = ""
    sender: Annotated[str, ADDRESS] = ""
    moderators: Annotated[tuple[str, ...], ADDRESSES] = ()
    digest: Annotated[Literal["off", "hourly", "daily"], words("off", "hourly", "daily")] = "off"
    language: Annotated[str, LANGUAGE] = "en"
    templates: Annotated[str, PATH] = ""
    reply_notifications: Annotated[bool, SWITCH] = True

    def __repr__(self) -> str:
        return "Mail(...)"


class InboxSettings(Struct, frozen=True, kw_only=True):
    """The mailbox for answers to our mails."""

    address: Annotated[str, ANSWERED] = ""
    host: Annotated[str, HOST] = ""
    port: Annotated[int, whole(1, 65_535)] = 993
    security: Annotated[Literal["tls", "starttls", "none"], words("tls", "starttls", "none")] = (
        "tls"
    )
    user: Annotated[str, USER] = ""
    password: Annotated[str, SECRET] = ""
    token_command: Annotated[str, COMMAND] = ""
    ca_file: Annotated[str, PATH] = ""
    folder: Annotated[str, USER] = "INBOX"
    hook_secret: Annotated[str, HOOK_SECRET] = ""

    def __repr__(self) -> str:
        return "Inbox(...)"


class HooksSettings(Struct, frozen=True, kw_only=True):
    """Webhooks and messengers that get notifications about comments."""

    webhooks: Annotated[tuple[str, ...], SECRET_URLS] = ()
    secret: Annotated[str, SECRET] = ""
    ntfy: Annotated[str, SECRET_URL] = ""
    ntfy_token: Annotated[str, SECRET] = ""
    telegram_token: Annotated[str, SECRET] = ""
    telegram_chat: Annotated[str, USER] = ""
    telegram_decides: Annotated[bool, SWITCH] = False
    slack: Annotated[str, SECRET_URL] = ""
    discord: Annotated[str, SECRET_URL] = ""
    allowed_networks: Annotated[tuple[str, ...], NETWORKS] = ()

    def __repr__(self) -> str:
        return "Hooks(...)"


class OidcSettings(Struct, frozen=True, kw_only=True):
    """Signing in at a provider of OpenID Connect: `oidc` for moderators, `readers` for readers."""

    issuer: Annotated[str, URL] = ""
    client_id: Annotated[str, USER] = ""
    client_secret: Annotated[str, SECRET] = ""
    name: Annotated[str, TITLE] = ""

    def __repr__(self) -> str:
        return f"Oidc({self.issuer!r}, ...)"


class MentionsSettings(Struct, frozen=True, kw_only=True):
    """Limits for mentions on other sites; each `[[site]]` says which of them it accepts."""

    bluesky_service: Annotated[str, URL] = "https://public.api.bsky.app"
    allowed_networks: Annotated[tuple[str, ...], STRANGERS] = ()


class BackupSettings(Struct, frozen=True, kw_only=True):
    """Scheduled backups."""

    directory: Annotated[str, PATH] = ""
    every: Annotated[Literal["hourly", "daily", "weekly"], words("hourly", "daily", "weekly")] = (
        "daily"
    )
    keep: Annotated[int, whole(1, 1_000)] = 14


class StacosysSettings(Struct, frozen=True, kw_only=True):
    """The protocol of Stacosys."""

    redirect: Annotated[str, REDIRECT] = "/"
    rss_file: Annotated[str, PATH] = ""


class AuthSettings(Struct, frozen=True, kw_only=True):
    """The secret key; logs never show it."""

    secret_key: Annotated[str, KEY] = ""

    def __repr__(self) -> str:
        return "Auth(...)"


class Settings(Struct, frozen=True, kw_only=True):
    """All settings. `sites` are the `[[site]]` tables of the file."""

    server: ServerSettings = ServerSettings()
    database: DatabaseSettings = DatabaseSettings()
    comments: CommentsSettings = CommentsSettings()
    moderation: ModerationSettings = ModerationSettings()
    spam: SpamSettings = SpamSettings()
    judge: JudgeSettings = JudgeSettings()
    privacy: PrivacySettings = PrivacySettings()
    mail: MailSettings = MailSettings()
    inbox: InboxSettings = InboxSettings()
    hooks: HooksSettings = HooksSettings()
    oidc: OidcSettings = OidcSettings()
    readers: OidcSettings = OidcSettings()
    mentions: MentionsSettings = MentionsSettings()
    backup: BackupSettings = BackupSettings()
    stacosys: StacosysSettings = StacosysSettings()
    auth: AuthSettings = AuthSettings()
    sites: tuple[Site, ...] = (Site(),)

    @property
    def judging_seconds(self) -> int:
        """How long a program or a language model has to judge a comment; 0 if none is asked."""
        if self.judge.url:
            return JUDGE_SECONDS
        return self.spam.classifier_seconds if self.spam.classifier_url else 0

    @property
    def mailing_decisions(self) -> frozenset[str]:
        """The sites that mail decisions to authors and reporters: see `moderation.notices`."""
        can_mail = bool(self.mail.host and self.server.public_url)
        return frozenset(site.name for site in self.sites if site.notices and can_mail)


# The struct of each section of the file. `site` is a list of tables, all others are tables.
SECTIONS: Final[dict[str, type[Struct]]] = {
    **{f.name: f.type for f in msgspec.structs.fields(Settings) if f.name != "sites"},
    "site": Site,
}

# Settings of earlier versions, which are constants beside their use now. A file that has one is
# still valid.
REMOVED: Final = frozenset(
    {
        "comments.image_count",
        "database.queue",
        "feed.entries",
        "inbox.poll_minutes",
        "mail.link_days",
        "mentions.follow_days",
        "mentions.poll_minutes",
        "mentions.rate_limit",
        "moderation.session_idle_hours",
        "server.body_timeout",
        "server.handler_timeout",
        "server.head_timeout",
        "server.max_waiting_requests",
        "server.stream_heartbeat",
        "spam.honeypot",
        "spam.image_limit",
        "spam.site_pending_limit",
        "spam.view_limit",
    }
)
