"""Submissions: a request becomes a valid submission, or an error that names all invalid fields.

All functions are pure. The fast path is msgspec's decoder for `SubmissionFields`, which checks
types and names in C; only when it fails, the JSON is read again, without types, to find everything
that is wrong. Texts are corrected rather than refused if the author could not see what is wrong:
control, bidirectional and invisible characters are removed from names, since they would disguise
them or disturb the page around them; so are marks that would cover other lines; a title that is too
long is cut. A message of which nothing would be seen is as good as none.

Errors: SubmissionError > MalformedError.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from commentsvc.markup import image_names, markdown
from commentsvc.settings.schema import CommentsSettings
from commentsvc.settings.types import HIDDEN, OPTIONAL, REQUIRED, AskedField
from commentsvc.util.i18n import Text
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import deliverable, host_of
from commentsvc.util.suggestions import nearest
from commentsvc.util.text import (
    VISIBLE,
    is_visible,
    one_line,
    whole_number,
    with_few_marks,
    without_blank_lines,
)

EMAIL_LENGTH = 254  # characters: RFC 5321, 4.5.3.1.3, without the angle brackets
SITE_LENGTH = 300  # characters of an author's web site
TITLE_LENGTH = 300  # characters of a page's title; search engines show 60
QUOTE_LENGTH = 500  # characters of a page that a private note quotes
FOLLOW = "page"  # the value of a form's `notify` that asks for all comments on the page
FIELDS = 256  # fields of a JSON object or form; ours have a dozen
UNKNOWN_FIELDS = 10  # unknown fields that one error lists, with NAME_LENGTH characters each
NAME_LENGTH = 40
LONGEST_MARKUP = 2_000  # characters of a message in which we look for markup without a text
BIGGEST_ID = 2**63 - 1  # SQLite's INTEGER
KEY = r"[A-Za-z0-9._~-]{8,64}"
_MISSING = {
    "author": _("Please enter a name."),
    "message": _("Please write a comment."),
}
WRONG_EMAIL: Final = _("This is not an email address. Please correct it, or leave it empty.")
NO_EMAIL: Final = _("Please enter your email address, such as ann@example.org.")
NO_PICTURE: Final = _("A private note can have no picture. Please remove it.")
ANONYMOUS: Final = _("Anonymous")  # the author of a comment without a name

# The patterns of addresses in the JSON Schema: every JSON Schema library understands them, and
# `check` accepts all that match.
_ATOM, _NAME = "[A-Za-z0-9À-ÖØ-öø-ʯ_+-]{1,30}", "[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20}){0,2}"
PLAIN_EMAIL = rf"^(?:{_ATOM}(?:\.{_ATOM})?@{_NAME}(?:\.{_NAME})+)?$"
_LABEL = "[A-Za-z0-9À-ÖØ-öø-ʯ-]+"
PLAIN_SITE = (
    rf"^(?:https?://{_LABEL}(?:\.{_LABEL})*(?::[0-9]{{1,5}})?(?:/[A-Za-z0-9._~/%?#=&+-]*)?)?$"
)


class SubmissionError(Exception):
    """Invalid fields; the texts are for the person who wrote the comment."""

    def __init__(self, problems: dict[str, Text]) -> None:
        super().__init__(", ".join(problems))
        self.problems = problems


class MalformedError(SubmissionError):
    """The body is not a JSON object in UTF-8; the text is for the client's programmer."""

    def __init__(self, message: str) -> None:
        super().__init__({})
        self.message = message


def _described(description: str, **schema: object) -> Meta:
    """Return the JSON Schema of a field; its errors for people come from `check`.

    A key ``x-setting`` stands for limits that come from the settings.
    """
    return Meta(description=description, extra_json_schema=schema)


Url = Annotated[str, _described("The page.", **{"x-setting": "url"})]
Author = Annotated[
    str, _described("The author's name.", pattern=VISIBLE, **{"x-setting": "author"})
]
MessageText = Annotated[
    str,
    _described(
        "The text in Markdown (GitHub's); raw HTML is shown as text.",
        pattern=VISIBLE,
        **{"x-setting": "message"},
    ),
]
Email = Annotated[
    str,
    _described(
        "The author's email address, which is never shown. Addresses in other scripts than "
        "Latin are accepted too.",
        pattern=PLAIN_EMAIL,
        maxLength=EMAIL_LENGTH,
    ),
]
AuthorSite = Annotated[
    str, _described("The author's web site.", pattern=PLAIN_SITE, maxLength=SITE_LENGTH)
]
ParentId = Annotated[
    int,
    _described("The id of the comment that this one replies to.", minimum=1, maximum=BIGGEST_ID),
]
Title = Annotated[str, _described("The title of the page.")]
Key = Annotated[
    str,
    _described(
        "A random word that the client keeps secret. If a submission is sent again with the "
        "same key, it is stored only once.",
        pattern=f"^(?:{KEY})?$",
    ),
]
Notify = Annotated[
    bool,
    _described(
        "Whether to mail the author when somebody replies. Needs an `email`; the author must "
        "confirm it once."
    ),
]
Follow = Annotated[
    bool,
    _described(
        "Whether to mail the author all new comments on the page. Needs an `email`; the author "
        "must confirm it."
    ),
]
Agreed = Annotated[
    bool,
    _described("Whether the author has ticked the box of a site that has an `agreement`."),
]
Honeypot = Annotated[
    str,
    _described("Leave it empty: a submission with a value here is treated as spam.", maxLength=0),
]
FormToken = Annotated[str, _described("The `form_token` of GET /api/form-token.")]
SolvedWork = Annotated[
    str, _described("A solution of the `proof_of_work` that came with the form token (ALTCHA).")
]


Quote = Annotated[
    str, _described(f"The words that the note is about; {QUOTE_LENGTH} characters are kept.")
]
Thank = Annotated[bool, _described("Whether the author may be thanked by name in public.")]


class SubmissionFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A submission. An optional field may be absent or null.

    Our forms hide `subject` from people, so only programs fill it in.
    """

    url: Url
    author: Author
    message: MessageText
    email: Email | None = None
    site: AuthorSite | None = None
    parent: ParentId | None = None
    title: Title | None = None
    key: Key | None = None
    notify: Notify | None = None
    follow: Follow | None = None
    agreed: Agreed | None = None
    subject: Honeypot | None = None
    form_token: FormToken | None = None
    proof_of_work: SolvedWork | None = None


class NoteFields(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A private note to the author of a page. An optional field may be absent or null."""

    url: Url
    author: Author
    message: MessageText
    quote: Quote | None = None
    thank: Thank | None = None
    email: Email | None = None
    title: Title | None = None
    key: Key | None = None
    subject: Honeypot | None = None
    form_token: FormToken | None = None
    proof_of_work: SolvedWork | None = None


class MessageBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Only a message."""

    message: MessageText


class Submission(msgspec.Struct, frozen=True, gc=False):
    """A parsed, valid comment that is not stored yet; `page` is its site's name and canonical url.

    `form_token` is None for clients of other systems, which know no token. `language` is the tag of
    the page's language, if mails are wanted. `permalink` is the address of a reply from elsewhere.
    `reader_id` is that of an author who has signed in. `any_parent` is for clients that cannot show
    an error: see `create.add`.
    """

    page: tuple[str, str]
    author: str
    message: str
    email: str
    avatar: str
    site: str
    parent: int | None
    title: str
    key: str
    honeypot: str
    notify: bool = False
    follow: bool = False
    form_token: str | None = ""
    proof_of_work: str = ""
    language: str = ""
    permalink: str = ""
    reader_id: int | None = None
    any_parent: bool = False

    def fingerprint(self) -> int:
        """Return a number that is the same for a retry of this submission, but not for others."""
        return hash((self.key or (self.author, self.message), self.page))


class AskedFields(NamedTuple):
    """What a site asks an author for, by the names in the API, and the text of the box to tick.

    `anonymous` is the name of an author who gives none.
    """

    author: AskedField = REQUIRED
    email: AskedField = OPTIONAL
    site: AskedField = OPTIONAL
    agreement: str = ""
    anonymous: str = ""


class Rules(NamedTuple):
    """What a submission is checked against.

    `locate` returns the site's name and the canonical url for the url of a page, or raises
    ValueError; `asks` returns what a site asks for.
    """

    bounds: CommentsSettings
    locate: Callable[[str], tuple[str, str]]
    asks: Callable[[str], AskedFields] = lambda _site: AskedFields()


class NoteSubmission(msgspec.Struct, frozen=True):
    """A parsed, valid private note: as a comment, about the words of the page in `quote`."""

    submission: Submission
    quote: str
    may_thank: bool


_decode_fields = msgspec.json.Decoder(SubmissionFields).decode
_decode_anything = msgspec.json.Decoder().decode
_TYPES = {field.name: field.type for field in msgspec.structs.fields(SubmissionFields)}
_NOTE_TYPES = {field.name: field.type for field in msgspec.structs.fields(NoteFields)}
_EMPTY = {"url": "", "author": "", "message": ""}

_KINDS = {"parent": "a whole number"} | dict.fromkeys(
    ("notify", "follow", "agreed", "thank"), "true or false"
)

# What a message loses: control characters other than tabs and line ends, which are one byte each.
_CONTROL = bytes((*range(0x09), *range(0x0B, 0x20), 0x7F))
_PLAIN_EMAIL = re.compile(PLAIN_EMAIL).fullmatch
# Without "=?": mail programs and libraries decode what follows it (RFC 2047).
_EMAIL = re.compile(
    r"(?!.*=\?)[^@\s<>()\[\],;:\\\"]+@[^@\s<>()\[\],;:\\\".]+(?:\.[^@\s<>()\[\],;:\\\".]+)+"
)
_SITE = re.compile(
    r"https?://(?:[^\s/?#@:\\<>\"'`\[\]]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?:[/?#][^\s\\<>\"`]*)?",
    re.IGNORECASE,
)
# A web site without its scheme: a host name with a dot, and what follows it.
_HOST = re.compile(r"[\w-]+(\.[\w-]+)+([:/?#]|$)")
_KEY = re.compile(KEY)


def avatar(email: str) -> str:
    """Return the key of the picture for an email address, as Gravatar defines it.

    It is the MD5 digest in hex of the address without surrounding spaces, in lower case; `""` for
    `""`.
    """
    email = email.strip().lower()
    return hashlib.md5(email.encode(), usedforsecurity=False).hexdigest() if email else ""


def page_title(text: str) -> str:
    """Return the title of a page as it is stored: one line of at most TITLE_LENGTH characters."""
    return one_line(text)[:TITLE_LENGTH]


def is_site(text: str) -> bool:
    """Return whether `text` may be an author's web site: an http(s) URL without a user name."""
    return len(text) <= SITE_LENGTH and _is_plain(text, _SITE) and bool(host_of(text))


def with_plain_scheme(site: str) -> str:
    """Return a web site with its scheme in lower case, which clients look for: ``Https://``."""
    scheme, mark, rest = site.partition("://")
    return f"{scheme.lower()}{mark}{rest}" if mark else site


def is_email(text: str) -> bool:
    """Return whether `text` may be an email address that mail can be sent to."""
    if not text or len(text) > EMAIL_LENGTH:
        return False
    # Most addresses match the first pattern, which takes a third of the time of the others.
    return bool(_PLAIN_EMAIL(text)) or (_is_plain(text, _EMAIL) and bool(deliverable(text)))


def is_key(text: str) -> bool:
    """Return whether `text` may be a random key made by a client."""
    return bool(_KEY.fullmatch(text))


def from_json(body: bytes, rules: Rules) -> Submission:
    """Read a submission from a JSON body. Raise SubmissionError."""
    problems: dict[str, Text] = {}
    try:
        fields = _decode_fields(body)
    except msgspec.ValidationError:
        fields = _convert(_decode_object(body), problems)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MalformedError("The body is not valid JSON in UTF-8.") from None
    return check(fields, rules, problems)


def from_form(form: Mapping[str, str], rules: Rules) -> Submission:
    """Read a submission from a posted form, as `from_json` does; `thank` is for notes alone."""
    problems: dict[str, Text] = {}
    values: dict[str, object] = {
        name: text for name, text in form.items() if text and name != "thank"
    }
    if (parent := whole_number(form.get("parent", ""))) is not None:
        values["parent"] = parent
    if wish := values.pop("notify", ""):
        values["follow" if wish == FOLLOW else "notify"] = True
    if values.pop("agreed", ""):
        values["agreed"] = True
    if _HOST.match(form.get("site", "").strip()):
        values["site"] = f"https://{form['site'].strip()}"
    return check(_convert(values, problems), rules, problems)


def note_from_json(body: bytes, rules: Rules) -> NoteSubmission:
    """Read a private note from a JSON body, as `from_json` does."""
    return _checked_note(_decode_object(body), rules)


def note_from_form(form: Mapping[str, str], rules: Rules) -> NoteSubmission:
    """Read a private note from a posted form; fields that only comments have are ignored."""
    beside = ("private", "parent", "site", "notify", "agreed")
    values: dict[str, object] = {
        name: text for name, text in form.items() if text and name not in beside
    }
    if "thank" in values:
        values["thank"] = True
    return _checked_note(values, rules)


def _checked_note(values: dict[str, object], rules: Rules) -> NoteSubmission:
    """Check a note: its author is asked for no website, and agrees to nothing."""

    def asks(site: str) -> AskedFields:
        return rules.asks(site)._replace(site=HIDDEN, agreement="")

    problems: dict[str, Text] = {}
    good = _valid(_NOTE_TYPES, values, problems)
    quote, thank = good.pop("quote", None) or "", bool(good.pop("thank", None))
    fields = SubmissionFields(**_EMPTY | good)
    if image_names.names(fields.message):  # whoever knows the address of a picture can see it
        problems["message"] = NO_PICTURE
    quote = _cleaned(_with_plain_lines(quote[: 2 * QUOTE_LENGTH])).strip()[:QUOTE_LENGTH]
    return NoteSubmission(check(fields, rules._replace(asks=asks), problems), quote, thank)


def message_from_json(body: bytes, bounds: CommentsSettings, may_be_blank: bool = False) -> str:
    """Read a JSON body with a message alone, for a preview or an edit, as `from_json` does.

    With `may_be_blank`, only an empty message is refused: an author has just begun to write.
    """
    problems: dict[str, Text] = {}
    values = _decode_object(body)
    for name in values.keys() - MessageBody.__struct_fields__:
        problems[name[:NAME_LENGTH]] = "Only a message can be sent here."
        if len(problems) == UNKNOWN_FIELDS:
            break
    fields = _convert({"message": values.get("message", "")}, problems)
    return _checked(fields.message, bounds, problems, may_be_blank)


def message_from_text(text: str, bounds: CommentsSettings) -> str:
    """Read a message that a moderator wrote. Raise SubmissionError."""
    return _checked(text, bounds, {})


def _checked(
    text: str, bounds: CommentsSettings, problems: dict[str, Text], may_be_blank: bool = False
) -> str:
    sent = _with_plain_lines(text)
    message = _cleaned(sent)
    if not may_be_blank and _is_blank(message):
        message = ""
    _check_text(problems, "message", message, len(sent), bounds.message_length)
    if problems:
        raise SubmissionError(problems)
    return message


def _decode_object(body: bytes) -> dict[str, object]:
    try:
        values = _decode_anything(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MalformedError("The body is not valid JSON in UTF-8.") from None
    if not isinstance(values, dict):
        raise MalformedError('The body must be a JSON object, as in {"url": …, "author": …}.')
    if len(values) > FIELDS:
        raise MalformedError(f"There are more than {FIELDS} fields.")
    return values


def _convert(values: dict[str, object], problems: dict[str, Text]) -> SubmissionFields:
    """Return the fields from those `values` that are valid; name the others in `problems`."""
    return SubmissionFields(**_EMPTY | _valid(_TYPES, values, problems))


def _valid(
    types: Mapping[str, Any], values: dict[str, object], problems: dict[str, Text]
) -> dict[str, Any]:  # Any: each value is checked against its own field's type
    """Return those `values` that are of the `types` of their names; name others in `problems`."""
    good: dict[str, Any] = {}
    for name, value in values.items():
        if name not in types:
            if len(problems) < UNKNOWN_FIELDS:
                problems[name[:NAME_LENGTH]] = _unknown(name, types)
            continue
        try:
            good[name] = msgspec.convert(value, types[name])
        except msgspec.ValidationError:
            problems[name] = f"This must be {_KINDS.get(name, 'text')}."
    return good


def _unknown(name: str, types: Mapping[str, Any]) -> str:
    if near := nearest(name, types):
        return f"There is no such field. Did you mean {near}?"
    return "There is no such field. Known are " + ", ".join(types) + "."


def check(
    fields: SubmissionFields, rules: Rules, problems: dict[str, Text] | None = None
) -> Submission:
    """Clean and check `fields`; `problems` are those found before. Raise SubmissionError.

    The value of a field that the site hides is dropped.
    """
    wrong = {} if problems is None else problems
    page, asks, bounds = ("", ""), AskedFields(), rules.bounds
    try:
        page = rules.locate(fields.url)
        asks = rules.asks(page[0])
    except ValueError as error:
        wrong.setdefault("url", str(error))
    sent_message = _with_plain_lines(fields.message)
    message = _cleaned(sent_message)
    if _is_blank(message):
        message = ""
    author, email, site = _author(fields, asks, bounds, wrong)
    wants_mail = asks.email != HIDDEN
    _check_text(wrong, "message", message, len(sent_message), bounds.message_length)
    if asks.agreement and not fields.agreed:
        wrong["agreed"] = _("Please tick the box: %(box)s", box=asks.agreement)
    if fields.parent is not None and not 0 < fields.parent <= BIGGEST_ID:
        wrong["parent"] = "This must be the id of a comment, a positive whole number."
    if fields.key and not is_key(fields.key):
        wrong["key"] = "A key has 8 to 64 characters out of A-Z, a-z, 0-9 and - . _ ~."
    if wrong:
        raise SubmissionError(wrong)
    title = page_title(fields.title) if fields.title else ""
    return Submission(
        page,
        author,
        message,
        email,
        avatar(email) if email else "",
        site,
        fields.parent,
        title,
        fields.key or "",
        fields.subject or "",
        wants_mail and bool(fields.notify),
        wants_mail and bool(fields.follow),
        fields.form_token or "",
        fields.proof_of_work or "",
    )


def _author(
    fields: SubmissionFields, asks: AskedFields, bounds: CommentsSettings, wrong: dict[str, Text]
) -> tuple[str, str, str]:
    """Return the author's name, address and web site; add what is wrong with them to `wrong`."""
    sent_name = "" if asks.author == HIDDEN else fields.author
    name = one_line(sent_name)
    email = "" if asks.email == HIDDEN else (fields.email or "").strip()
    site = "" if asks.site == HIDDEN else with_plain_scheme((fields.site or "").strip())
    if name or asks.author == REQUIRED:
        _check_text(wrong, "author", name, len(sent_name), bounds.author_length)
    if asks.email == REQUIRED and not is_email(email):
        wrong["email"] = NO_EMAIL
    elif email or (asks.email != HIDDEN and (fields.notify or fields.follow)):
        _check_email(wrong, email)
    if asks.site == REQUIRED and not is_site(site):
        wrong["site"] = _("Please enter the address of your website, such as https://example.org/.")
    elif site and not is_site(site):
        wrong["site"] = _(
            "A website must begin with http:// or https://, and may have at most %(limit)s "
            "characters and no spaces. Please correct it, or leave it empty.",
            limit=SITE_LENGTH,
        )
    return name or asks.anonymous, email, site


def _with_plain_lines(message: str) -> str:
    return message.replace("\r\n", "\n").replace("\r", "\n")


def _cleaned(message: str) -> str:
    kept = message.encode(errors="surrogatepass").translate(None, _CONTROL)
    return with_few_marks(without_blank_lines(kept.decode(errors="surrogatepass")))


def _is_blank(message: str) -> bool:
    """Return whether nothing of a cleaned message can be seen on the page, as of ``#``.

    Of a long one, only the characters are looked at: rendering it would take too long.
    """
    if message[:1].isalpha() and is_visible(message[0]):
        return False  # a paragraph
    if len(message) > LONGEST_MARKUP or not is_visible(message):
        return not is_visible(message)
    return markdown.is_blank(markdown.parse(message, service="-"))


def _check_text(wrong: dict[str, Text], name: str, text: str, length: int, most: int) -> None:
    """Check a cleaned `text`, of which `length` characters were sent, as the JSON Schema says."""
    if not text:
        wrong.setdefault(name, _MISSING[name])
    elif length > most:
        wrong[name] = _(
            "This has %(length)s characters; at most %(limit)s are allowed.",
            length=length,
            limit=most,
        )


def _check_email(wrong: dict[str, Text], email: str) -> None:
    """Check the address of an author who wants mails, or gave one."""
    if not email:
        wrong.setdefault("email", _("To get mails about replies, please enter your email address."))
    elif not is_email(email):
        wrong["email"] = WRONG_EMAIL


def _is_plain(text: str, shape: re.Pattern[str]) -> bool:
    """Return whether `text` matches `shape` and has no invisible characters."""
    return bool(shape.fullmatch(text)) and text.isprintable()
