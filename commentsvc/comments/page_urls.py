"""Canonical urls: the one form of a page's address that names its thread.

A page is sent as a path (``/2017/07/post/``) or as an absolute http(s) address whose origin belongs
to a configured site. Both come out as a path, with a query where one is left, by these rules, in
this order (sections are those of RFC 3986 unless another document is named):

1.  Spaces around the url are dropped. Control characters, plain or percent-encoded, lone surrogates
    and urls of over `LENGTH` characters are refused.
2.  The fragment is dropped (it names a part of the page, 3.5).
3.  A backslash before the query counts as a slash, as it does in browsers (WHATWG URL, 4.4).
4.  An absolute url loses scheme and authority once its site is found. Case of scheme and host, the
    default port, a final dot of the host and IDNA spelling do not matter; http and https, and
    a leading ``www.``, name the same page unless two sites differ only there. User and password
    are refused. A url that begins with ``//`` is a path with a doubled slash: it is what
    ``location.pathname`` says for such a page.
5.  A path that lacks its leading slash gets one.
6.  Percent-encoding (6.2.2): unreserved characters are decoded, hex digits are upper case, any
    character that a path may not hold is encoded as UTF-8, a ``%`` without two hex digits becomes
    ``%25``. Reserved characters stay as they were sent, since encoding changes their meaning.
7.  Empty segments (doubled slashes) are dropped, then dot segments are resolved (5.2.4).
8.  A final ``index.html``, with or without a slash behind it, stands for its folder.
9.  The trailing slash is as the site's setting says: ``keep`` it as sent, ``add`` it where the last
    segment is not an ``.html`` or ``.htm`` file, or ``remove`` it. The root is always ``/``.
10. Tracking parameters (`TRACKING`, and all that begin with ``utm_``) and empty parameters are
    dropped from the query. The others are sorted by name, those of one name keep their order.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import quote

from msgspec.structs import replace

from commentsvc.comments.submission import ANONYMOUS, AskedFields
from commentsvc.markup.markdown import absolute, render
from commentsvc.model import Entry
from commentsvc.settings.schema import Site
from commentsvc.settings.types import REQUIRED
from commentsvc.util.i18n import translate
from commentsvc.util.origin import host_of, origin
from commentsvc.util.suggestions import no_such
from commentsvc.util.timestamps import DAY_MS

LENGTH = 2_000  # characters of a url: what browsers, proxies and search engines take in practice

_NAMES = """
    _ga _gl _hsenc _hsmi __hssc __hstc __hsfp dclid epik fb_action_ids fb_action_types fb_ref
    fb_source fbclid gad_campaignid gad_source gbraid gclid gclsrc hsctatracking igsh igshid
    li_fat_id mc_cid mc_eid mkt_tok ml_subscriber ml_subscriber_hash msclkid mtm_campaign
    oly_anon_id oly_enc_id rb_clickid s_cid srsltid ttclid twclid vero_conv vero_id wbraid
    wickedid yclid ysclid
"""
TRACKING = frozenset(_NAMES.split())  # parameters that advertisers and newsletters add to links


class UrlError(ValueError):
    """The url cannot name a page here; the text is for the person who sent it."""


class UnknownSiteError(UrlError):
    """No configured site has this name."""


class PageRef(NamedTuple):
    """A page: the name of its site and its canonical url."""

    site: str
    url: str


_PLAIN = re.compile(r"/[A-Za-z0-9._~/-]*").fullmatch
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]|%(?:[01][0-9A-Fa-f]|7[Ff])").search
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match
_ESCAPES = re.compile(r"%[0-9A-Fa-f]{2}|%|[^A-Za-z0-9._~!$&'()*+,;=:@/?%-]+").sub
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _escape(match: re.Match[str]) -> str:
    text = match.group()
    if len(text) == 3 and text[0] == "%":
        byte = int(text[1:], 16)
        return chr(byte) if byte in _UNRESERVED else text.upper()
    return "".join(f"%{byte:02X}" for byte in text.encode())


def canonical(url: str, trailing_slash: str = "keep") -> str:
    """Return the canonical form of `url`, a path with or without a query. Raise UrlError."""
    has_odd_parts = "//" in url or "/." in url or "index.htm" in url
    if len(url) <= LENGTH and _PLAIN(url) and not has_odd_parts:
        return _slashed(url, trailing_slash) if trailing_slash != "keep" else url
    return canonical_by_rule(url, trailing_slash)


def canonical_by_rule(url: str, trailing_slash: str) -> str:
    """Do as `canonical`, without its fast path for urls that are canonical already."""
    path, _, query = _clean(url).partition("?")
    segments: list[str] = []
    parts = _ESCAPES(_escape, path.replace("\\", "/")).split("/")
    for part in parts:
        if part == "..":
            del segments[-1:]
        elif part not in ("", "."):
            segments.append(part)
    folder = parts[-1] in ("", ".", "..")
    while segments and segments[-1] == "index.html":
        del segments[-1]
        folder = True
    path = "/" + "/".join(segments) + ("/" if folder and segments else "")
    path = _slashed(path, trailing_slash) + _query(query)
    if len(path) > LENGTH:
        raise UrlError(f"The address of the page is longer than {LENGTH} characters.")
    return path


def _clean(url: str) -> str:
    if len(url) > LENGTH:  # As it was sent: spaces and fragment count, too.
        raise UrlError(f"The address of the page is longer than {LENGTH} characters.")
    url = url.partition("#")[0].strip(" ")
    if not url:
        raise UrlError("The address of the page (url) is missing.")
    if _CONTROL(url):
        raise UrlError("The address of the page holds a control character.")
    return url


def _slashed(path: str, trailing_slash: str) -> str:
    if trailing_slash == "remove" and path != "/":
        return path.removesuffix("/")
    if trailing_slash == "add" and not path.endswith(("/", ".html", ".htm")):
        return path + "/"
    return path


def _query(query: str) -> str:
    kept = []
    for pair in _ESCAPES(_escape, query).split("&") if query else ():
        name = pair.partition("=")[0]
        if pair and name.lower() not in TRACKING and not name.lower().startswith("utm_"):
            kept.append((name, pair))
    if not kept:
        return ""
    kept.sort(key=lambda item: item[0])
    return "?" + "&".join(pair for _, pair in kept)


def _loose(exact: str) -> str:
    """Return an origin without its scheme and a leading ``www.`` (rule 4)."""
    return exact.partition("://")[2].removeprefix("www.")


NAMED: Final = 10  # blogs that a page names, if it is not known which one the reader comes from


class Blog(NamedTuple):
    """A blog as a page of ours names it; its address is "" if the settings name none."""

    title: str
    address: str


def _blog(site: Site) -> Blog:
    address = f"{site.origin}/" if site.origin else ""
    return Blog(site.title or host_of(site.origin) or site.name, address)


def _guidelines(site: Site) -> str:
    """Return the HTML of what readers see above the form; "" for nothing."""
    html = absolute(render(site.guidelines.strip()), f"{site.origin}/")
    return f'<div lang="{site.language}">\n{html}</div>' if html else ""


class SiteOptions(NamedTuple):
    """What the settings of a site say about its comments.

    `open_for` is how long threads take comments, in milliseconds (0: always); `language` the tag of
    the site's language; `math` whether formulas are shown; `images` the address of the service if
    images are shown, else ""; `pictures` the URL of authors' pictures for `item`, "" without any.
    `asks` is what authors are asked for, `guidelines` the HTML above the form, and
    `notes` whether readers may send private notes, `notices` whether a report may have a contact.
    `emoji` are those with which readers may react to comments.
    """

    open_for: int
    language: str
    math: bool
    images: str
    pictures: str
    asks: AskedFields
    guidelines: str
    members_only: bool
    notes: bool
    notices: bool
    emoji: tuple[str, ...]


class Sites:
    """The configured sites, with their `options` by name.

    It finds the site and the canonical url for a request.
    """

    def __init__(self, sites: Sequence[Site], public_url: str = "", votes: str = "off") -> None:
        """Take the settings' sites, at least one, the address of the service, `comments.votes`.

        The origins of sites are http(s) addresses.
        """
        self._reacts = votes == "reactions"
        self._sites = {site.name: site for site in sites}
        self._first = sites[0]
        base = public_url.rstrip("/")
        self.options = {site.name: self._options_of(site, base) for site in sites}
        self._exact: dict[str, Site] = {}
        self._near: dict[str, Site] = {}
        for site in sites:
            for exact in map(origin, site.origins):
                self._exact.setdefault(exact, site)
                self._near.setdefault(_loose(exact), site)

    def named(self, name: str) -> str:
        """Return the name of the site for the value of a ``site=`` parameter; "" means the first.

        Raise UnknownSiteError.
        """
        return self._named(name).name

    def locate(self, url: str, name: str = "") -> PageRef:
        """Return the page for `url`, on the site `name`, else that of its origin, else the first.

        Raise UrlError for a url that is malformed or of a foreign origin, UnknownSiteError for a
        name that no site has.
        """
        if url[:1] != "/" and _SCHEME(url.strip(" ")):
            return self._absolute(url, name)
        site = self._named(name) if name else self._first
        return PageRef(site.name, canonical(url, site.trailing_slash))

    def locate_or_none(self, url: str, name: str) -> PageRef | None:
        """Do as `locate`; return None for a url that is malformed or of a foreign origin."""
        try:
            return self.locate(url, name)
        except UrlError:
            return None

    def locator(self, name: str) -> Callable[[str], PageRef]:
        """Return `locate` for the site `name`; "" decides by the url. Raise UnknownSiteError."""
        if name:
            self._named(name)
        return partial(self.locate, name=name)

    def page_or_site(self, url: str, name: str) -> PageRef:
        """Do as `locate`; without a url, return the whole site, whose url is ""."""
        return self.locate(url, name) if url else PageRef(self.named(name), "")

    def reactions(self, name: str, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the number of reactions for each emoji that the site `name` offers."""
        return {emoji: counts.get(emoji, 0) for emoji in self._sites[name].reactions}

    def counts_views(self, name: str) -> bool:
        """Return whether views of pages of the site `name` are counted."""
        return self._sites[name].views

    def names_posts(self, name: str) -> bool:
        """Return whether posts on social networks may be about pages of the site `name`."""
        site = self._sites[name]
        return bool(site.social_sitemap or site.social_accounts or site.social_posts)

    def origin(self, name: str) -> str:
        """Return the origin of the pages of the site `name`; "" if the settings name none."""
        return self._sites[name].origin

    def address(self, name: str, url: str) -> str:
        """Return the address of a page, on the blog; the path alone if its origin is not known."""
        site = self._sites.get(name)
        return (site.origin if site else "") + url

    def blogs(self, name: str = "", url: str = "") -> list[Blog]:
        """Return the blogs that a page names: the blog `name`, that of `url`, or the first ones."""
        found = self.locate_or_none(url, "") if url and name not in self._sites else None
        site = self._sites.get(found.site if found else name)
        return [_blog(each) for each in ([site] if site else [*self._sites.values()][:NAMED])]

    def with_absolute_links(self, entry: Entry, keeps_notes: bool = False) -> Entry:
        """Return a comment to be shown elsewhere than on its page; see `markdown.absolute`."""
        page, comment = self.address(entry.site, entry.url), entry.comment
        html = absolute(comment.html, page, keeps_notes)
        return replace(entry, comment=replace(comment, html=html))

    @property
    def language(self) -> str:
        """The tag of the first site's language."""
        return self._first.language

    def _options_of(self, site: Site, base: str) -> SiteOptions:
        """Return the options of a site; `base` is the address of the service."""
        query = "" if site is self._first else f"?site={quote(site.name, safe='')}"
        return SiteOptions(
            open_for=site.close_days * DAY_MS,
            language=site.language,
            math=site.math,
            images=base if site.images else "",
            pictures=f"api/avatar/*{query}" if site.avatar_url else "",
            asks=AskedFields(
                site.name_field,
                site.email_field,
                site.website_field,
                site.agreement.strip(),
                "" if site.name_field == REQUIRED else translate(ANONYMOUS, site.language),
            ),
            guidelines=_guidelines(site),
            members_only=site.members_only,
            notes=site.private_notes,
            notices=site.notices,
            emoji=site.reactions if self._reacts else (),
        )

    def _absolute(self, url: str, name: str) -> PageRef:
        head, mark, query = _clean(url).partition("?")
        head = head.replace("\\", "/")
        exact = origin(head)
        if not exact:
            raise UrlError("The address of the page must be a path or begin with http or https.")
        site = self._exact.get(exact) or self._near.get(_loose(exact))
        if site is None or (name and self._named(name) is not site):
            raise UrlError(
                f"The address of the page is at {exact}, which is not an origin of this site."
                " Add it to the site's origins in the settings, or send the path alone."
            )
        path = head.split("/", 3)[3:]
        return PageRef(
            site.name, canonical("/" + "".join(path) + mark + query, site.trailing_slash)
        )

    def _named(self, name: str) -> Site:
        if not name:
            return self._first
        try:
            return self._sites[name]
        except KeyError:
            raise UnknownSiteError(no_such("site", name, self._sites)) from None
