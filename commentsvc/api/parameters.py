"""Query parameters that several operations have.

A key ``x-setting`` stands for limits from the settings; `openapi` inserts them.
"""

from typing import Annotated, Final

from msgspec import Meta, field

from commentsvc.comments.pagination import PATTERN
from commentsvc.http.operation import Query

COUNTED: Final = 100  # pages of one batch count; a list page has 10 to 50, an answer up to 128 tags

PageUrl = Annotated[
    str,
    Meta(
        description="The page: a path, or an address whose origin belongs to the site.",
        examples=["/2017/07/post/"],
        extra_json_schema={"x-setting": "url"},
    ),
]
PageOrSite = Annotated[
    str,
    Meta(
        description="The page: a path, or an address whose origin belongs to the site. Without it,"
        " the whole site.",
        examples=["/2017/07/post/"],
        extra_json_schema={"x-setting": "url or nothing"},
    ),
]
PageOfSite = Annotated[
    str,
    Meta(
        description="A page of the site: a path, or an address whose origin belongs to the site.",
        examples=["/2017/07/post/"],
        extra_json_schema={"x-setting": "url or nothing"},
    ),
]
PageUrls = Annotated[
    list[PageUrl],
    Meta(
        description="The pages; repeat the parameter for each.",
        max_length=COUNTED,
        extra={"message": f"Ask for at most {COUNTED} pages at once."},
    ),
]
SiteName = Annotated[
    str,
    Meta(
        description="The name of the site in the settings. Default: the site that `url` belongs "
        "to, or else the first one.",
        extra_json_schema={"x-setting": "site"},
    ),
]
NO_TAG: Final = "This must be the tag of a language, such as de or pt-BR."
LanguageTag = Annotated[
    str,
    Meta(
        description="The language of texts for readers. English is used for unknown languages.",
        pattern="^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,3}$",
        examples=["de"],
        extra={"message": NO_TAG},
    ),
]


After = Annotated[
    str,
    Meta(
        description="Continue here: `next` of the previous answer.",
        pattern=PATTERN,
        extra={"message": "This must be `next` of an answer. Leave it out to begin."},
    ),
]

Token = Annotated[
    str,
    Meta(description="The site's `token` in the settings, for clients of Stacosys."),
]


class PageQuery(Query, frozen=True):
    """A page."""

    url: PageUrl
    site: SiteName = ""


class PageOrSiteQuery(Query, frozen=True):
    """A page, or the whole site."""

    url: PageOrSite = ""
    site: SiteName = ""


class AnyPageQuery(Query, frozen=True):
    """A site, named directly or by one of its pages."""

    url: PageOfSite = ""
    site: SiteName = ""


class PagesQuery(Query, frozen=True):
    """Several pages."""

    url: PageUrls = field(default_factory=list)
    site: SiteName = ""


class WriteQuery(Query, frozen=True):
    """The site to write to, and the language of errors."""

    site: SiteName = ""
    lang: LanguageTag = "en"


class LanguageQuery(Query, frozen=True):
    """The language of errors."""

    lang: LanguageTag = "en"


# The token to which links in mails of a former comment system lead.
FORMER: Final = "former"


class LinkQuery(Query, frozen=True):
    """The token of a link in a mail."""

    t: Annotated[str, Meta(description="The token of the link.")] = ""
