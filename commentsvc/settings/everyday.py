"""Everyday settings: those that an owner may change in the browser, and what they say.

A changed value is stored in the database (`moderation.stored_settings`), and is in force unless the
file or the environment sets it. A secret, a service to which the server connects, a path and what
the core takes at its start are never among these settings; nor is who gets the mails by which
comments are decided.

A site that the file does not have exists while its ORIGINS are stored: see `apply`.

Values are read by the parser of the file, so that bounds are the same. Errors are in the language
of the moderator, and name the field of the form.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, get_args, get_origin

import msgspec

from commentsvc.settings import types
from commentsvc.settings.loader import LoadedSettings, contradictions
from commentsvc.settings.parser import GivenValue, SettingsParser
from commentsvc.settings.schema import SECTIONS, Settings, Site
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _

# A setting of a site, by the site's name, or one of the service, whose site is "".
Key = tuple[str, str]

ASKED: Final = {
    "hidden": _("not asked for"),
    "optional": _("optional"),
    "required": _("required"),
}
POLICIES: Final = {
    "all": _("All comments wait for approval."),
    "first": _("The first comments of an author wait for approval."),
    "suspicious": _("Only suspicious comments wait for approval."),
    "none": _("Comments are published at once."),
}
VOTES: Final = {
    "off": _("none"),
    "up": _("for comments only"),
    "both": _("for and against"),
    "reactions": _("reactions with emoji"),
}
DIGESTS: Final = {"off": _("for each comment"), "hourly": _("hourly"), "daily": _("daily")}
SHOWN: Final = 80  # characters of a refused value
ORIGINS: Final = "site.origins"
MOST_SITES: Final = 50
MOST_ORIGINS: Final = 10  # of a site, in the browser
ORIGIN_LENGTH: Final = 300  # characters

_LISTED: Final = _("at most %(most)s lines of 1 to 100 characters each", most=types.WORDS)
_CHOICE: Final = _("one of the choices")
# What may be typed in, by the description of a type.
_ALLOWED: Final[Mapping[str | None, Text]] = {
    types.SWITCH.description: _CHOICE,
    types.RATE.description: _(
        "“off”, or a number and a time such as “5/minute” (second, minute, hour or day)"
    ),
    types.UNWANTED.description: _LISTED,
    types.PROTECTED.description: _LISTED,
    types.READ.description: _("lines out of: %(names)s", names=", ".join(types.SCRIPTS)),
    types.SIGN_IN.description: _(
        "lines out of: %(names)s", names=", ".join((*types.SIGN_IN_METHODS, types.REQUIRED))
    ),
    types.REACTIONS.description: _("at most %(most)s emoji, one on each line", most=types.REACTED),
    types.LANGUAGE.description: _("the code of a language, such as “de” or “zh-Hant”"),
    types.TITLE.description: _("at most %(most)s characters on one line", most=200),
    types.GUIDELINES.description: _("at most %(most)s characters", most=2_000),
    types.ORIGINS.description: _(
        "at most %(most)s addresses such as “https://blog.example” without a path, one on each"
        " line; international names begin with “xn--”",
        most=MOST_ORIGINS,
    ),
}
SIGN_IN: Final = "site.sign_in"  # without it in force, a closed site would be open
# What is wrong if a setting contradicts what the file sets.
_CONTRADICTS: Final = {
    SIGN_IN: _(
        "This site takes comments by mail, and who writes these has not signed in: leave out"
        " “required”."
    ),
    ORIGINS: _("An address belongs to one site, and one of these belongs to another site."),
}


class SettingRefused(Exception):
    """A setting cannot be changed, or be in force; `text` says why."""

    def __init__(self, text: Text) -> None:
        super().__init__(str(text))
        self.text = text


class EverydaySetting(NamedTuple):
    """A setting, such as "spam.max_links".

    `label` is what stands before the field. A switch has a sentence instead, which is true if it is
    on. `words` are the sentences for the values, if only these are allowed.
    """

    name: str
    label: Text
    words: Mapping[str, Text] = {}

    @property
    def field(self) -> msgspec.structs.FieldInfo:
        """What the schema says about it."""
        section, key = self.name.split(".")
        fields = msgspec.structs.fields(SECTIONS[section])
        return next(field for field in fields if field.name == key)

    @property
    def kind(self) -> str:
        """How it is typed in: "switch", "words", "lines", "number", "text" or "long text"."""
        kind = get_args(self.field.type)[0]
        if kind is bool:
            return "switch"
        if self.words:
            return "words"
        if get_origin(kind) is tuple:
            return "lines"
        if kind is int:
            return "number"
        return "long text" if self.name == "site.guidelines" else "text"

    @property
    def is_of_site(self) -> bool:
        """Whether each site has it."""
        return self.name.startswith("site.")

    @property
    def allowed(self) -> Text:
        """What may be typed in."""
        meta = get_args(self.field.type)[1]
        if self.kind == "number":
            return _("a whole number from %(least)s to %(most)s", least=meta.ge, most=meta.le)
        return _CHOICE if self.words else _ALLOWED[meta.description]

    def parse(self, value: object) -> Any:  # Any: whatever type the schema has for it
        """Return a value in its normal form. Raise SettingRefused."""
        section, key = self.name.split(".")
        reading = SettingsParser("", {section: SECTIONS[section]}, repeated="", others=())
        given = GivenValue(value, self.name, from_text=False)
        built = reading.build(SECTIONS[section], {key: given}, section)
        parsed = getattr(built, key)
        is_long = self.name == ORIGINS and (
            len(parsed) > MOST_ORIGINS or any(len(each) > ORIGIN_LENGTH for each in parsed)
        )
        if reading.problems or is_long:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            refusal = _(
                "%(what)s: “%(value)s” is not possible. Allowed: %(allowed)s.",
                what=self.label,
                value=" ".join(shown[:SHOWN].split()),
                allowed=self.allowed,
            )
            raise SettingRefused(refusal)
        return parsed

    def typed(self, text: str) -> Any:  # Any: as above
        """Return the value that somebody has typed, one item of a list on each line.

        Raise SettingRefused.
        """
        text = text.replace("\r\n", "\n").strip()
        value: object = text
        if self.kind == "lines":
            value = [line.strip() for line in text.split("\n") if line.strip()]
        elif self.kind == "switch":
            value = bool(text)
        elif self.kind == "number" and text.isascii() and text.isdigit() and len(text) < 10:
            value = int(text)
        return self.parse(value)

    def sentence(self, value: Any) -> Text:  # Any: as above
        """Return what a value means: a sentence, or the label and the value."""
        if self.kind == "switch":
            return self.label if value else _("Off: %(what)s", what=self.label)
        if self.kind == "words":
            return _labelled(self.label, self.words[value])
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        return _labelled(self.label, " ".join(shown.split()) or _("none"))


def _labelled(label: Text, value: object) -> Text:
    return _("%(label)s: %(value)s", label=label, value=value)


class Group(NamedTuple):
    """Settings that stand in one form, under a title."""

    name: str
    title: Text
    settings: tuple[EverydaySetting, ...]


_S = EverydaySetting
GROUPS: Final = (
    Group(
        "waiting",
        _("What waits for approval"),
        (
            _S("moderation.policy", _("Approval"), POLICIES),
            _S("moderation.trust_after", _("Approved comments until an author is trusted")),
            _S("moderation.protected_names", _("Names and addresses that nobody else may use")),
            _S("spam.max_links", _("Most links in a comment that does not wait")),
            _S("spam.blocked_words", _("Words of comments that wait")),
            _S("spam.scripts", _("Scripts in which readers write")),
        ),
    ),
    Group(
        "spam",
        _("Spam"),
        (
            _S("spam.spam_score", _("Points from which a comment is spam (0: never)")),
            _S("spam.bayes", _("The filter learns from your decisions.")),
            _S("spam.duplicates", _("Texts that were sent before get points.")),
            _S("spam.rate_limit", _("Comments of one network")),
            _S("spam.pending_limit", _("Waiting comments of one network")),
            _S("spam.keep_spam_days", _("Days until spam is deleted (0: never)")),
        ),
    ),
    Group(
        "readers",
        _("Readers and mails"),
        (
            _S("comments.votes", _("Votes on comments"), VOTES),
            _S("moderation.edit_minutes", _("Minutes in which authors can change a comment")),
            _S("mail.reply_notifications", _("Readers can get mails about replies.")),
            _S("mail.digest", _("Mails to moderators"), DIGESTS),
            _S("mail.language", _("Language of mails to moderators")),
        ),
    ),
    Group(
        "site",
        _("Comments of this site"),
        (
            _S("site.policy", _("Approval"), {"": _("As for all sites."), **POLICIES}),
            _S("site.close_days", _("Days until a page closes for comments (0: never)")),
            _S("site.reactions", _("Emoji with which readers react")),
            _S("site.math", _("Formulas between dollar signs are shown.")),
            _S("site.views", _("Page views are counted.")),
            _S("site.private_notes", _("Readers can send private notes.")),
            _S("site.notices", _("Reporters and authors are mailed decisions.")),
            _S("site.numbers", _("Numbers about moderation are published.")),
            _S("site.moved_pages", _("Pages that have moved are searched for.")),
            _S("site.translations", _("Translations of a page share its comments.")),
        ),
    ),
    Group(
        "form",
        _("The form of this site"),
        (
            _S("site.language", _("Language")),
            _S("site.title", _("Title of the blog")),
            _S("site.contact", _("Who answers for the blog")),
            _S("site.name_field", _("Name"), ASKED),
            _S("site.email_field", _("Email address"), ASKED),
            _S("site.website_field", _("Website"), ASKED),
            _S(SIGN_IN, _("Ways to sign in (mail, provider, blog, required)")),
            _S("site.guidelines", _("Guidelines above the form, in Markdown")),
            _S("site.agreement", _("Text of a box that has to be ticked")),
        ),
    ),
)
# The settings of the forms, and that of the page of sites.
SETTINGS: Final = {
    **{each.name: each for group in GROUPS for each in group.settings},
    ORIGINS: _S(ORIGINS, _("Addresses of the blog")),
}


def value(settings: Settings, key: Key) -> Any:  # Any: whatever type the schema has for it
    """Return the value of a setting; the default for a site that is not there."""
    site, (section, field) = key[0], key[1].split(".")
    if section != "site":
        return getattr(getattr(settings, section), field)
    found = next((each for each in settings.sites if each.name == site), Site())
    return getattr(found, field)


def replaced(settings: Settings, key: Key, new: Any) -> Settings:  # Any: as above
    """Return the settings with another value. ORIGINS of a site that is not there make it."""
    site, (section, field) = key[0], key[1].split(".")
    change = msgspec.structs.replace
    if section != "site":
        return change(settings, **{section: change(getattr(settings, section), **{field: new})})
    sites = {each.name: each for each in settings.sites}
    sites[site] = change(sites.get(site, Site(name=site)), **{field: new})
    return change(settings, sites=tuple(sites.values()))


def is_site_name(name: str) -> bool:
    """Return whether a site can have that name."""
    return re.match(str(types.NAME.pattern), name) is not None


def keys(settings: Settings) -> Iterator[Key]:
    """Yield all settings that can be changed: those of the service, then those of each site."""
    yield from (("", name) for name, each in SETTINGS.items() if not each.is_of_site)
    for site in settings.sites:
        yield from ((site.name, name) for name, each in SETTINGS.items() if each.is_of_site)


class Applied(NamedTuple):
    """The settings with the stored values, and why some of these are `left_out`.

    With `refusals` the server must not start: a site would be open that was closed in the browser.
    """

    settings: Settings
    left_out: Mapping[Key, Text]
    refusals: list[str]


def location(where: str) -> Text:
    """Return where the operator has set something; "" for nowhere."""
    file, _colon, rest = where.rpartition("/")[2].partition(":")
    line = rest.partition(":")[0]
    if line:
        return _("set in %(file)s, line %(line)s", file=file, line=line)
    return _("set by %(name)s", name=where) if where else ""


def _may_be_of(settings: Settings, setting: EverydaySetting, site: str) -> bool:
    """Return whether a setting is one of that site, or makes it; of the service for ""."""
    if not setting.is_of_site:
        return not site
    is_there = any(each.name == site for each in settings.sites)
    return is_there or (setting.name == ORIGINS and is_site_name(site))


def apply(loaded: LoadedSettings, stored: Mapping[Key, object]) -> Applied:
    """Return the settings with the values that are `stored`, as JSON has them.

    What the file or the environment sets stays, and so does what an invalid value, or one for a
    site that is gone, would change. So does what contradicts the file. Stored ORIGINS, which come
    first, make a site that the file does not have.
    """
    settings = loaded.settings
    left_out: dict[Key, Text] = {}
    made = sorted(key for key in stored if key[1] == ORIGINS)
    for key in (*made, *(key for key in stored if key[1] != ORIGINS)):
        setting = SETTINGS.get(key[1])
        if setting is None or not _may_be_of(settings, setting, key[0]):
            left_out[key] = _("There is no such setting or site.")
        elif where := loaded.locations.get(key):
            left_out[key] = _("It is %(location)s, which has priority.", location=location(where))
        else:
            try:
                new = replaced(settings, key, setting.parse(stored[key]))
            except SettingRefused as error:
                left_out[key] = error.text
                continue
            if len(new.sites) > max(MOST_SITES, len(settings.sites)):
                left_out[key] = _("There can be %(most)s sites at most.", most=MOST_SITES)
            elif problems := [*contradictions(new)]:
                left_out[key] = _CONTRADICTS.get(key[1], " ".join(problems))
            else:
                settings = new
    known = {*keys(settings)}
    refusals = [
        f"site.sign_in of {site} was changed on the moderation pages, and cannot be in force:"
        f" {reason} Or set site.sign_in in the settings file, which has priority."
        for (site, name), reason in left_out.items()
        if name == SIGN_IN and (site, name) in known and (site, name) not in loaded.locations
    ]
    return Applied(settings, left_out, refusals)


def differing(settings: Settings) -> Iterator[Key]:
    """Yield the settings that are not the defaults."""
    plain = Settings()
    for site, name in keys(settings):
        usual = value(plain, (plain.sites[0].name if site else "", name))
        if value(settings, (site, name)) != usual:
            yield (site, name)
