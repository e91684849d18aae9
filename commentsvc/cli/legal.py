"""The command that writes texts about privacy and the law, and what `check --legal` compares."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from commentsvc.cli.common import Choice, Failure, config_option, data_option
from commentsvc.legal import document
from commentsvc.legal.document import LegalDocument
from commentsvc.legal.privacy import privacy
from commentsvc.legal.record import facts, processing
from commentsvc.settings.schema import Settings
from commentsvc.util.error_texts import error_text
from commentsvc.util.http_client import RemoteError, SettingsClient
from commentsvc.util.i18n import match_language, moderators_language, moderators_tags
from commentsvc.util.suggestions import no_such

MAKERS: Final = {document.PRIVACY: privacy, document.PROCESSING: processing, document.FACTS: facts}
READ: Final = 2 << 20  # bytes of a published text
SHOWN: Final = 10  # sentences that it lacks


@click.command()
@data_option
@config_option
@click.option("--site", "name", metavar="NAME", help="The site; without it, the first one.")
@click.option("--lang", metavar="TAG", help="The language; without it, that of the site.")
@click.argument("kind", type=Choice(document.KINDS))
def legal(
    data: Path, settings_file: Path | None, name: str | None, lang: str | None, kind: str
) -> None:
    """Write a text about privacy or the law from the settings, as Markdown.

    `privacy` is for the readers of a site, `processing` the record of processing activities (GDPR,
    article 30), `facts` what the Digital Services Act and the Online Safety Act ask about. None of
    them is legal advice. `check --legal` says when a published text and the settings differ.
    """
    from commentsvc.cli import running

    settings = running.settings_for(data, settings_file)
    by_name = {site.name: site for site in settings.sites}
    site = by_name.get(name or settings.sites[0].name)
    if site is None:
        raise Failure([no_such("site", name or "", list(by_name))])
    if not site.contact:
        raise Failure(
            [
                f"The settings do not say who answers for the site {site.name}. Give it a contact,"
                ' such as "Ann Example, Elm Street 1, Bree, ann@blog.example", then run this again.'
            ]
        )
    if lang and not match_language(lang, moderators_tags()):
        raise Failure([no_such("language", lang, list(moderators_tags()))])
    made = MAKERS[kind](settings, site)
    click.echo(made.markdown(moderators_language(lang or site.language)), nl=False)


def outdated(settings: Settings, where: str) -> Iterator[str]:
    """Yield a line for each difference between the settings and the text at an address or file."""
    try:
        published = document.plain(_read(settings, where))
    except (OSError, RemoteError) as error:
        yield f"{where} cannot be read: {error_text(error)}"
        return
    kinds = dict.fromkeys(found[1] for found in document.VERSION.finditer(published))
    if not kinds:
        yield (
            f"{where} has no line such as Version: privacy-0123456789ab. Publish what `commentsvc"
            " legal` writes, with that line."
        )
    for kind in kinds:
        made = [MAKERS[kind](settings, site) for site in settings.sites if site.contact]
        if any(each.version in published for each in made):
            continue
        yield (
            f"{where}: the {kind} text was made from other settings, or by another version."
            f" Write it again: commentsvc legal {kind}"
        )
        yield from _lacking(settings, made, published)


def _lacking(settings: Settings, made: list[LegalDocument], published: str) -> Iterator[str]:
    """Yield a line for some of the sentences that a published text lacks."""
    spoken = dict.fromkeys(moderators_language(site.language) for site in settings.sites)
    lacking = document.difference(made, spoken, published) if made else []
    yield from (f"It lacks: {said}" for said in lacking[:SHOWN])


def _read(settings: Settings, where: str) -> str:
    if urlsplit(where).scheme not in ("http", "https"):
        with Path(where).open("rb") as file:
            return file.read(READ).decode(errors="replace")
    client = SettingsClient(settings.hooks.allowed_networks)
    answer = asyncio.run(client.fetch(where, READ, {}))
    if answer.status != 200:
        raise RemoteError(f"{where} answers {answer.status}")
    return answer.body.decode(errors="replace")
