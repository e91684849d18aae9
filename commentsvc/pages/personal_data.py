"""Personal data: authors export or erase what is stored about them, by links sent by mail.

Whoever can read an address's mail is its owner. So the form asks for the address, and two links are
mailed there, one for each action. A page behind a link acts on POST only, since mail scanners
follow links. The answer to the form is always the same: nobody learns whether an address was used
here, and no mail is sent to other addresses. The number of mails per day is limited for each
address and for each network.
"""

from functools import partial
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta

from commentsvc import outbox
from commentsvc.api.parameters import LinkQuery
from commentsvc.auth import signed_links
from commentsvc.auth.attempts import AttemptLimiter, Bucket, Rate, buckets_of_network
from commentsvc.auth.signed_links import OWN_DAYS, SignedLinks
from commentsvc.comments.submission import EMAIL_LENGTH, PLAIN_EMAIL, is_email
from commentsvc.context import ServiceContext
from commentsvc.db.connection import Snapshot, Transaction
from commentsvc.http.messages import (
    NO_SNIFFING,
    NOT_STORED,
    HttpError,
    Request,
    Response,
    TrustedProxies,
    first,
    too_many,
)
from commentsvc.http.operation import HTML, form_of, handles, json_of
from commentsvc.model import AUTHOR
from commentsvc.moderation import personal_data, retention
from commentsvc.outbox import MailAddress
from commentsvc.pages.mail_links import handles_link, rendered
from commentsvc.util.client_network import network_of
from commentsvc.util.i18n import Text, ngettext
from commentsvc.util.i18n import gettext as _
from commentsvc.util.origin import address_key
from commentsvc.util.timestamps import DAY_MS

PER_NETWORK: Final = Rate(10, DAY_MS)
PER_ADDRESS: Final = Rate(3, DAY_MS)
DOWNLOADS: Final = Rate(10, DAY_MS)  # by the links to one address; pictures make them large

ABOUT: Final = (
    _(
        "Enter the email address that you used for your comments. You get a mail with two links: "
        "one to download everything that is stored about you here, one to erase it."
    ),
)
NO_MAIL: Final = _(
    "If no mail arrives within an hour, look in your spam folder, or try another of your addresses."
)
SENT: Final = (
    _("If comments were written with this address, a mail is on its way to it."),
    NO_MAIL,
)


Address: TypeAlias = Annotated[
    str,
    Meta(
        description="The address that gets the mail.",
        extra_json_schema={"pattern": PLAIN_EMAIL, "minLength": 1, "maxLength": EMAIL_LENGTH},
    ),
]


class AddressForm(msgspec.Struct, frozen=True):
    """A form that asks for a mail."""

    email: Address


EXPORTED: Final = {
    200: json_of(personal_data.Export),
    **dict.fromkeys((400, 404, 410, 429, 503), HTML),
}
# A posted form with an address, which is answered by HTML pages.
handles_address = partial(
    handles,
    "POST",
    answer=dict.fromkeys((200, 400, 404, 415, 429, 503), HTML),
    ignores_unknown=True,
    body=form_of(AddressForm),
    errors=(),
)


class RequestLimiter:
    """Requests of readers, for mails or downloads.

    A network, and those with an address, may make a limited number of them.
    """

    def __init__(self, service: ServiceContext, purpose: str, per_address: Rate) -> None:
        """Take what is requested, in at most 8 letters, and the rate of one address."""
        self.sends = bool(service.settings.mail.host)
        self._purpose = purpose.encode()
        self._per_address = per_address
        self._proxies = TrustedProxies(service.settings.server.trusted_proxies)
        self._clock = service.clock
        self._limiter = AttemptLimiter(service.database, service.keys[0])

    def require_mail(self) -> None:
        """Raise HttpError 404 if the service sends no mail."""
        if not self.sends:
            message = _("This service does not send mail. Please ask the owner of the blog.")
            raise HttpError(404, "no_mail", message)

    async def count(self, request: Request, email: str) -> None:
        """Count a request. Raise HttpError 429, DatabaseError."""
        client, whose = network_of(self._proxies.client(request)), address_key(email).encode()
        buckets = (
            *buckets_of_network(b"network " + self._purpose, client, PER_NETWORK),
            Bucket(b"address " + self._purpose, whose, self._per_address),
        )
        if wait := await self._limiter.take(buckets, self._clock.now_ms()):
            message = _(
                "This was requested several times today. Try again in %(hours)s h.",
                hours=-(-wait // 3600),
            )
            raise too_many(message, wait)


def typed_address(request: Request) -> tuple[str, Text]:
    """Return the address in an AddressForm and what is wrong with it, "" if nothing is."""
    email = first(request.form(), "email").strip()
    if is_email(email):
        return email, ""
    return email[:EMAIL_LENGTH], _("This is not an email address. Please correct it.")


class PersonalDataPages:
    def __init__(self, service: ServiceContext) -> None:
        self._requests = RequestLimiter(service, "own data", PER_ADDRESS)
        self._downloads = RequestLimiter(service, "download", DOWNLOADS)
        self._database = service.database
        self._links = SignedLinks(service.keys)
        self._clock = service.clock

    @handles("GET", "/mail/own", {200: HTML, 404: HTML}, ignores_unknown=True, errors=())
    async def page(self) -> Response:
        """Show a form that asks for an author's address.

        404 where no mail is sent.
        """
        self._requests.require_mail()
        return _asking()

    @handles_address("/mail/own")
    async def ask(self, request: Request) -> Response:
        """Mail links to an export and to the erasure of an author's data.

        The answer does not say whether the address is known. Two links are mailed to a known
        address. 400, 404, 415, 429.
        """
        self._requests.require_mail()
        email, problem = typed_address(request)
        if problem:
            return _asking(400, email, problem)
        await self._requests.count(request, email)
        now = self._clock.now_ms()
        to = MailAddress(email, request.language().tag)
        await self._database.write(outbox.mail, "own", to, now)
        return _shown(title=_("Please check your mailbox"), texts=SENT)

    @handles_link("GET", "/mail/export")
    async def ask_to_export(self, query: LinkQuery) -> Response:
        """Ask an author whether to export their data."""
        [email] = self._read("export", query.t)
        texts = (_("Everything that was written with %(email)s, as JSON.", email=email),)
        return _shown(title=_("Download your comments?"), texts=texts, button=_("Download"))

    @handles_link("POST", "/mail/export", answer=EXPORTED)
    async def export(self, request: Request, query: LinkQuery) -> Response:
        """Export an author's data.

        It may be repeated until the link expires, since a download may break. 404, 410, 429, 503.
        """
        [email] = self._read("export", query.t)
        await self._downloads.count(request, email)
        body = await self._database.read(_exported, email, self._clock.now_ms())
        headers = (
            ("Content-Type", "application/json"),
            ("Content-Disposition", 'attachment; filename="comments.json"'),
            NOT_STORED,
            NO_SNIFFING,
        )
        return Response(200, headers, body)

    @handles_link("GET", "/mail/erase")
    async def ask_to_erase(self, query: LinkQuery) -> Response:
        """Ask an author whether to erase their data."""
        email, _outbox_id = self._read("erase", query.t)
        number = len(await self._database.read(personal_data.ids, email))
        texts = (
            ngettext(
                "%(num)s comment was written with %(email)s.",
                "%(num)s comments were written with %(email)s.",
                number,
                email=email,
            ),
            _(
                "This cannot be undone. Replies by others stay; the comments that they answer "
                "become empty places."
            ),
        )
        title, button = _("Erase all your comments?"), _("Erase them for good")
        return _shown(title=title, texts=texts, button=button)

    @handles_link("POST", "/mail/erase")
    async def erase(self, query: LinkQuery) -> Response:
        """Erase an author's data, once."""
        email, outbox_id = self._read("erase", query.t)
        now = self._clock.now_ms()

        def work(tx: Transaction) -> int:
            signed_links.mark_used(tx, f"erase {email} {outbox_id}", now, OWN_DAYS * DAY_MS)
            return len(retention.forget(tx, email, AUTHOR, now))

        number = await self._database.write(work)
        done = ngettext("%(num)s comment was erased.", "%(num)s comments were erased.", number)
        return _shown(title=_("Everything is erased"), texts=(done,))

    def _read(self, purpose: str, token: str) -> list[Any]:  # Any: as in Links
        return self._links.read(purpose, token, self._clock.now_ms())


def _exported(snapshot: Snapshot, email: str, now: int) -> bytes:
    """Return the JSON of everything that is stored about an address.

    It is made on a reading thread, one comment at a time: with pictures, all of it may take longer
    than the event loop may wait.
    """
    found = personal_data.export(snapshot, email, now)
    members = {name: getattr(found, name) for name in found.__struct_fields__}
    members["comments"] = [
        msgspec.Raw(msgspec.json.format(msgspec.json.encode(each))) for each in found.comments
    ]
    return msgspec.json.encode(members)


def _asking(status: int = 200, email: str = "", problem: Text = "") -> Response:
    return _shown(
        status,
        title=_("Your comments"),
        texts=ABOUT,
        asks=True,
        submit=_("Mail me the links"),
        email=email,
        problem=problem,
    )


def _shown(status: int = 200, **values: Any) -> Response:  # Any: what the template shows
    return rendered("dialog.html", status, **values)
