"""The command `doctor`, which finds mistakes in the set-up."""

import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from commentsvc.cli.common import Choice, Failure, FilePath, config_option, counted
from commentsvc.cli.doctor.hints import PROXIES

if TYPE_CHECKING:
    from commentsvc.cli.doctor.remote import Finding
    from commentsvc.settings.schema import Settings

_MARKS = {
    True: click.style("ok   ", fg="green"),
    False: click.style("fault", fg="red", bold=True),
    None: click.style("-    ", dim=True),
}


def _as_url(ctx: click.Context, param: click.Parameter, value: str) -> str:
    try:
        parts = urlsplit(value)
        is_url = parts.scheme in ("https", "http") and parts.hostname and parts.port != 0
    except ValueError:  # the port
        is_url = False
    if not is_url or not value.isprintable() or " " in value:
        raise click.BadParameter("give a URL such as https://comments.example", ctx, param)
    return value


@click.command()
@click.argument("url", callback=_as_url)
@click.option(
    "--origin", "origins", multiple=True, help="The blog's origin, such as https://blog.example."
)
@click.option("--proxy", type=Choice(PROXIES), help="Show advice only for this proxy.")
@click.option(
    "--ca-file",
    type=FilePath(exists=True),
    help="Also trust this certificate of your own authority.",
)
@click.option(
    "--address", default="", help="The address of the service, if DNS does not have it yet."
)
@click.option(
    "--plain-port",
    type=click.IntRange(1, 65_535),
    default=80,
    help="The port for plain HTTP.",
    show_default=True,
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The data folder, to check it too. Only on the service's machine.",
)
@config_option
def doctor(
    url: str,
    origins: tuple[str, ...],
    proxy: str | None,
    ca_file: str | None,
    address: str,
    plain_port: int,
    data: Path | None,
    settings_file: Path | None,
) -> None:
    """Check the service at URL from outside, as a browser sees it.

    Each line is one finding. A fault is followed by the line to change. The exit code is 1 if there
    is a fault.
    """
    import certifi

    from commentsvc.cli import running
    from commentsvc.cli.doctor import local
    from commentsvc.cli.doctor import remote as looking

    trust = ssl.create_default_context()  # what this machine trusts
    trust.load_verify_locations(certifi.where())
    if ca_file:
        try:
            trust.load_verify_locations(ca_file)
        except ssl.SSLError as error:
            raise Failure([f"{ca_file} has no certificate in PEM. Name another file."]) from error
    visitor = looking.ProbeClient(url, trust, plain_port, address)
    settings = _settings(data, settings_file) if data else None
    if settings and not origins:
        origins = tuple(origin for site in settings.sites for origin in site.origins)
    faults = 0
    try:
        faults += _print_findings(looking.examine(visitor, origins), proxy)
        if data and settings:
            reported = local.reported(data)
            stale = [looking.Finding(name, False, text) for name, text in reported.items()]
            if "settings" not in reported:  # a newer file explains all differences
                unlike = running.unlike_server(data, settings_file)
                stale += [looking.Finding("settings", False, line) for line in unlike]
            faults += _print_findings(stale, proxy)
            faults += _print_findings(local.examine(visitor, data, settings_file, settings), proxy)
            faults += _print_findings([local.mail(data, settings)], proxy)
    except looking.Unreachable as error:
        rights = local.socket_rights(data) if data else ""
        raise Failure([str(error), *([rights] if rights else [])]) from error
    if not data:
        click.echo(
            "-     to check files, mail and keep-alive too, run this on the service's machine with "
            "--data"
        )
    if faults:
        raise Failure([f"{counted(faults, 'fault')} found"])


def _settings(data: Path, settings_file: Path | None) -> "Settings":
    """Return the settings of the running server, else those that it would have."""
    from commentsvc.cli import running

    return running.settings_in_force(data, settings_file)


def _print_findings(findings: "Iterable[Finding]", proxy: str | None) -> int:
    """Print the findings and what to do; return how many are faults."""
    from commentsvc.cli.doctor import hints

    faults = 0
    for finding in findings:
        click.echo(f"{_MARKS[finding.good]} {finding.check}: {finding.text}")
        if finding.good is False:
            faults += 1
            for line in hints.lines(finding.check, proxy or ""):
                click.echo(f"        {line}")
    return faults
