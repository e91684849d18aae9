"""Write the pages that are generated from the code: `python -m docs.generate`.

They are api.md, of what the routes declare, configuring.md, of the settings and their comments in
config/commentsvc.toml, and the JSON Schema of an export.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import fill
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Meta

from commentsvc.admin import (
    accounts,
    bans,
    comment,
    dashboard,
    downloads,
    first_owner,
    notes,
    outbox,
    own_account,
    passkeys,
    provider,
    review_queue,
    saved_replies,
    sign_in,
    sites,
    snippet,
    thread_moderation,
    threads,
    tokens,
    two_factor,
)
from commentsvc.admin import settings as settings_page
from commentsvc.admin.api import accounts as accounts_api
from commentsvc.admin.api import comments as comments_api
from commentsvc.admin.api import queue_stream, service
from commentsvc.admin.api import settings as settings_api
from commentsvc.admin.api import thread_moderation as thread_api
from commentsvc.admin.api import threads as threads_api
from commentsvc.api import (
    author,
    avatars,
    comments,
    feeds,
    images,
    openapi,
    reactions,
    search,
    static_files,
    stream,
    views,
)
from commentsvc.api.openapi import Json
from commentsvc.compat import artalk, stacosys, waline
from commentsvc.compat.isso import routes as isso
from commentsvc.exports import records
from commentsvc.http.operation import Operation, declared
from commentsvc.inbox import hook
from commentsvc.mentions import endpoint as webmentions
from commentsvc.monitoring import health
from commentsvc.pages import (
    comment_forms,
    comment_page,
    comments_by_mail,
    embed,
    follow,
    mail_links,
    numbers_page,
    personal_data,
    privacy_page,
    reader_sign_in,
)
from commentsvc.pages import search as search_page
from commentsvc.settings.schema import SECTIONS, Settings

PAGE = Path(__file__).with_name("api.md")
CONFIGURING = Path(__file__).with_name("configuring.md")
EXPORT_SCHEMA = Path(__file__).with_name("export-format.schema.json")

INTRODUCTION = """\
<!-- Written by `python -m docs.generate` from what the routes declare. -->

# The HTTP interface

Public reads are cached, open to every origin, with `ETag` and without cookies; they refuse
parameters that are not listed. Errors are JSON, `{"error": {"code", "message", "fields"?}}`, with a
message for readers. Times are RFC 3339 in UTC. The service describes itself at
`/openapi.json`; the limits on this page are those of the default settings.
"""

# What an operation that requires a token needs.
TOKENS = {
    "edit": "the edit token of the comment, or the token of its signed-in author",
    "reader": "the token of a reader who signed in",
    "blog": "the token of a moderator for pages of the blog",
}

SETTINGS_FILE = Path(__file__).parent.parent / "config" / "commentsvc.toml"
SETTINGS_INTRODUCTION = """\
<!-- Written by `python -m docs.generate` from config/commentsvc.toml and the settings' types. -->

# Configuring

`commentsvc init` writes `commentsvc.toml` into the data folder, with the settings that a blog
needs. With `--all`, the file has every setting of this page, commented out: remove the `#` before
one to change it. `commentsvc check` says whether your changes are valid; restart the server to
apply them.

```toml
[[site]]
name = "blog"
origins = ["https://blog.example"]

[server]
public_url = "https://comments.example"
```

Or set environment variables, for example in a container:
`COMMENTSVC_SITE_ORIGINS=https://blog.example` and
`COMMENTSVC_SERVER_PUBLIC_URL=https://comments.example`. Separate the items of a list by commas. A
variable whose name ends with `_FILE` holds the path of a file with the value, which keeps secrets
out of the environment. Variables override the file. Owners can change everyday settings, which
neither sets, on the moderation pages: see [Moderating](moderating.md#change-settings).
"""

# The settings that most operators want, in the order in which they need them.
FIRST_SETTINGS = (
    "site.name",
    "site.origins",
    "site.language",
    "server.public_url",
    "server.listen",
    "moderation.policy",
    "mail.host",
    "mail.sender",
    "mail.moderators",
    "backup.directory",
)
# Each subject of the other settings, with its sections.
SUBJECTS = (
    ("Blogs", ("site",)),
    ("Comments and moderation", ("comments", "moderation", "spam", "judge", "privacy")),
    ("Mail and notifications", ("mail", "inbox", "hooks")),
    ("Signing in", ("readers", "oidc")),
    ("Replies from elsewhere, and other systems", ("mentions", "stacosys")),
    ("The server and its data", ("server", "database", "backup", "auth")),
)

MODERATION = """\
## Moderation pages

These pages work without JavaScript, on phones and by keyboard.

| request | page |
| --- | --- |
"""

# Each part of the page, its introduction, and the modules whose operations it lists.
PARTS = (
    ("Comments", "", (comments, search, stream, author, reactions, views, images, avatars)),
    ("Feeds", "", (feeds,)),
    (
        "Pages without JavaScript",
        "",
        (embed, search_page, comment_forms, privacy_page, numbers_page),
    ),
    (
        "Replies from elsewhere",
        "See [Replies from elsewhere](mentions.md).",
        (webmentions, comment_page),
    ),
    (
        "Links in mails",
        "Each mail contains the whole URL. `GET` shows what the link does, `POST` does it.",
        (mail_links, follow, personal_data, comments_by_mail, reader_sign_in, hook),
    ),
    (
        "Stacosys",
        "Pages made for Stacosys keep working. [One line](embedding.md#pages-written-for-stacosys)"
        " puts our widget into them.",
        (stacosys,),
    ),
    (
        "Isso",
        "Themes made for Isso work unchanged if the site has `isso = true`: see"
        " [Migrating](migrating.md#isso). A second such site has these addresses below"
        " `/isso-NAME`.",
        (isso,),
    ),
    (
        "Waline",
        "Themes made for Waline work if the site has `waline = true`: see"
        " [Migrating](migrating.md#waline). A second such site has these addresses below"
        " `/waline-NAME`.",
        (waline,),
    ),
    (
        "Artalk",
        "Themes made for Artalk work if the site has `artalk = true`: see"
        " [Migrating](migrating.md#artalk). A second such site has these addresses below"
        " `/artalk-NAME`.",
        (artalk,),
    ),
    (
        "Moderation",
        "Send a token in `Authorization: Bearer`, never in a URL: see"
        " [Moderating](moderating.md#for-programs). A token may do what its account may, within its"
        " scope (read, decide, administer) and on its sites. No answer is cached or has CORS"
        " headers. To get the next part of a list, send its `next` as `after`.",
        (comments_api, threads_api, service, settings_api, accounts_api, queue_stream),
    ),
    (
        "Moderation on the blog's page",
        "For the widget, where a moderator has agreed: see"
        " [Moderating](moderating.md#on-the-blogs-page). Only pages of the origin that the token is"
        " for may use it.",
        (thread_api,),
    ),
    ("Operation", "", (health, openapi, static_files)),
)
MODERATORS = (
    *(
        first_owner,
        sign_in,
        review_queue,
        comment,
        notes,
        threads,
        thread_moderation,
        bans,
        outbox,
        saved_replies,
        settings_page,
        sites,
        snippet,
        downloads,
        dashboard,
        own_account,
        accounts,
        passkeys,
        provider,
        tokens,
        two_factor,
    ),
)


def operations(modules: Iterable[ModuleType]) -> list[Operation[Any]]:
    """Return the operations that the modules and the handlers of their classes declare."""
    found: list[Operation[Any]] = []
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Operation):
                found.append(value)
            elif isinstance(value, type) and value.__module__ == module.__name__:
                found += [operation for operation, _handler in declared(value)]
    return found


def page() -> str:
    """Return docs/api.md."""
    public = [each for _, _, modules in PARTS for each in operations(modules)]
    document = openapi.document(Settings(), public)
    lines = [INTRODUCTION]
    for title, text, modules in PARTS:
        lines += [f"## {title}\n", *([_wrapped(text), ""] if text else [])]
        for each in operations(modules):
            lines += _described(each, document["paths"][each.path][each.method.lower()])
    lines.append(
        MODERATION
        + "".join(
            f"| `{each.method} {each.path}` | {each.summary} |\n" for each in operations(MODERATORS)
        )
    )
    lines.append("## Objects\n")
    for name, schema in document["components"]["schemas"].items():
        lines += _object(name, schema)
    return "\n".join(lines).rstrip() + "\n"


def configuring() -> str:
    """Return docs/configuring.md. Raise KeyError for a setting without a comment in the file."""
    settings = dict(_shipped_settings(SETTINGS_FILE.read_text()))
    assert {section for _, sections in SUBJECTS for section in sections} == {*SECTIONS}
    lines = [SETTINGS_INTRODUCTION, "## The ten settings that most blogs need\n"]
    for name in FIRST_SETTINGS:
        section, _, key = name.partition(".")
        lines.append(_setting(section, key, settings, f"`{_header(section)}` "))
    for subject, sections in SUBJECTS:
        lines.append(f"\n## {subject}")
        for section in sections:
            struct = SECTIONS[section]
            above = [name for name in FIRST_SETTINGS if name.startswith(f"{section}.")]
            names = ", ".join(f"`{name.partition('.')[2]}`" for name in above)
            text = (struct.__doc__ or "") + (f" Described above: {names}." if above else "")
            lines += [f"\n### {_header(section)}\n", _wrapped(text) + "\n"]
            lines += [
                _setting(section, field, settings)
                for field in struct.__struct_fields__
                if f"{section}.{field}" not in FIRST_SETTINGS
            ]
    return "\n".join(lines) + "\n"


def _header(section: str) -> str:
    return f"[[{section}]]" if section == "site" else f"[{section}]"


def _setting(
    section: str, key: str, settings: Mapping[str, tuple[str, str]], before: str = ""
) -> str:
    field = next(each for each in msgspec.structs.fields(SECTIONS[section]) if each.name == key)
    allowed = next(each.description for each in field.type.__metadata__ if isinstance(each, Meta))
    default, comment = settings[f"{section}.{key}"]
    return _wrapped(f"- {before}`{default}`: {comment} Allowed: {allowed}.", "  ")


def _shipped_settings(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield "section.name", the default and the comment of each setting of the shipped file."""
    section = ""
    comment: list[str] = []
    for line in text.splitlines():
        if heading := re.fullmatch(r"\[+(\w+)\]+", line):
            section, comment = heading[1], []
        elif setting := re.match(r"#(\w+) = ", line):
            yield f"{section}.{setting[1]}", (line[1:], " ".join(comment))
            comment = []
        elif line.startswith("# "):
            comment.append(line[2:])


def _described(operation: Operation[Any], described: Json) -> Iterator[str]:
    yield f"### `{operation.method} {operation.path}`\n"
    yield _wrapped(f"{operation.summary}. {operation.note}") + "\n"
    if operation.bearer:
        yield _wrapped(f"Needs {TOKENS[operation.bearer]}: `Authorization: Bearer …`.") + "\n"
    for each in described.get("parameters", ()):
        yield _item(each["name"], each["schema"], each["required"], each.get("description", ""))
    if "parameters" in described:
        yield ""
    if "requestBody" in described:
        bodies = described["requestBody"]["content"].items()
        yield _wrapped("Body: " + " or ".join(_content(*each) for each in bodies) + ".") + "\n"
    answers = (
        " ".join([status, *(_content(*each) for each in answer.get("content", {}).items())])
        for status, answer in described["responses"].items()
        if not _is_error(answer)
    )
    errors = [status for status, answer in described["responses"].items() if _is_error(answer)]
    ending = f" Errors: {', '.join(errors)}." if errors else ""
    yield _wrapped(f"Responses: {', '.join(answers)}.{ending}") + "\n"


def _is_error(answer: Json) -> bool:
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).endswith("/Error")


def _content(media_type: str, content: Json) -> str:
    schema = content.get("schema", {})
    if "$ref" not in schema:
        return f"`{media_type}`"
    kind = _kind(schema)
    return kind if media_type == "application/json" else f"{kind} as `{media_type}`"


def _object(name: str, schema: Json) -> Iterator[str]:
    yield f"### {name}\n"
    yield _wrapped(" ".join(schema.get("description", "").split())) + "\n"
    for field, each in schema["properties"].items():
        described = next((one for one in each.get("anyOf", ()) if "description" in one), each)
        required = field in schema.get("required", ())
        yield _item(field, each, required, described.get("description", ""))
    yield ""


def _item(name: str, schema: Json, required: bool, description: str) -> str:
    facts = [_kind(schema), "required" if required else "optional"]
    if schema.get("default") not in (None, "", []):
        facts.append(f"default `{schema['default']}`")
    text = f"- `{name}` ({', '.join(facts)})" + (f": {description}" if description else "")
    return _wrapped(text, "  ")


def _kind(schema: Json) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"] if value != "") or "text"
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    kind = {"string": "text", "integer": "number", "boolean": "true or false", "object": "object"}
    text = kind.get(schema.get("type", ""), str(schema.get("type", "any")))
    if schema.get("format") == "date-time":
        text = "moment"
    if "maxLength" in schema:
        return (
            f"text of at most {schema['maxLength']} characters" if schema["maxLength"] else "empty"
        )
    return text


def _wrapped(text: str, indent: str = "") -> str:
    return fill(
        text.strip(), 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


if __name__ == "__main__":
    PAGE.write_text(page())
    CONFIGURING.write_text(configuring())
    EXPORT_SCHEMA.write_bytes(records.schema())
