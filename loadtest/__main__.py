"""The load tests: `python -m loadtest COMMAND`."""

import click

from loadtest.harness.client import ClientError
from loadtest.harness.programs import MissingError, ProgramError
from loadtest.harness.service import ServiceError
from loadtest.proxies import command as proxies
from loadtest.report import publish
from loadtest.servers import frameworks
from loadtest.workloads import (
    admin_pages,
    attack,
    bots,
    cluster,
    compare,
    exports,
    front_page,
    imports,
    instances,
    instructions,
    methods,
    mixed,
    page_view,
    processes,
    release,
    scaling,
    scenarios,
    soak,
)

ERRORS = (MissingError, ClientError, ProgramError, ServiceError, ValueError)
COMMANDS: dict[str, click.Command] = {
    "release": release.main,
    "scenarios": scenarios.main,
    "attack": attack.main,
    "frameworks": frameworks.main,
    "front-page": front_page.main,
    "page-view": page_view.main,
    "methods": methods.main,
    "mixed": mixed.main,
    "processes": processes.main,
    "cluster": cluster.main,
    "instances": instances.main,
    "scaling": scaling.main,
    "soak": soak.main,
    "admin-pages": admin_pages.main,
    "bots": bots.main,
    "export": exports.main,
    "import": imports.main,
    "proxies": proxies.main,
    "publish": publish.main,
    "compare": compare.main,
    "instructions": instructions.main,
}


class Group(click.Group):
    """The commands in the order above; expected failures are shown as one line."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names in our order."""
        return list(self.commands)

    def invoke(self, context: click.Context) -> object:
        """Run a command. Raise ClickException for what a user can do something about."""
        try:
            return super().invoke(context)
        except ERRORS as error:
            raise click.ClickException(str(error)) from error


@click.group(
    cls=Group,
    commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def main() -> None:
    """Measure commentsvc under load.

    The server runs on one core and its clients on another. loadtest/README.md describes the
    method and how to read the results. With --short, a command tries a little of everything
    and stores nothing.
    """


if __name__ == "__main__":
    main(prog_name="python -m loadtest")
