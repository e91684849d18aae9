"""The project's rules as data: which package may import which, and what must be tested.

A rule that is in the way is changed here, with the reason in the commit; it is not bypassed.
tests/unit/settings/test_loader.py checks that each setting is in config/commentsvc.toml.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from commentsvc.exports import records
from docs.generate import CONFIGURING, EXPORT_SCHEMA, PAGE, configuring, page

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "commentsvc"
CORE = ROOT / "core"
STATIC = ROOT / "static"

# Which packages each package may import: only packages above it in this table, so that imports
# cannot be circular. A new module needs no entry; its folder decides.
_DATA = ["model", "errors", "settings", "util", "db"]
_COMMENTS = [*_DATA, "outbox", "readers", "markup", "comments"]
_RULES = [*_COMMENTS, "feedback", "spam", "moderation"]
_SERVICE = [*_RULES, "auth", "backup", "delivery", "http", "legal"]
_HANDLERS = [*_SERVICE, "cluster", "context", "submissions"]
ALLOWED: dict[str, list[str]] = {
    "model": [],
    "util": [],
    "errors": ["util"],
    "settings": ["util"],
    "db": ["model", "settings", "util"],
    "outbox": _DATA,
    "cluster": _DATA,
    "http": ["settings", "util", "_core"],
    "backup": [*_DATA, "outbox"],
    "auth": [*_DATA, "outbox"],
    "readers": [*_DATA, "outbox"],
    "markup": ["model", "util"],
    "comments": [*_DATA, "outbox", "readers", "markup"],
    "feedback": [*_DATA, "outbox", "comments"],
    "context": [*_DATA, "comments"],
    "spam": [*_DATA, "readers", "markup", "comments"],
    "moderation": [*_COMMENTS, "feedback", "spam"],
    "legal": ["model", "settings", "util", "outbox", "feedback", "moderation"],
    "submissions": [*_RULES, "auth", "context"],
    "inbox": [*_RULES, "auth", "http", "context", "submissions"],
    "exports": [*_DATA, "markup", "comments", "feedback"],
    "imports": [*_RULES, "exports"],
    "delivery": [*_RULES, "auth"],
    "blog": [*_RULES, "context", "imports"],
    "mentions": [*_RULES, "auth", "http", "context", "submissions", "imports", "delivery", "blog"],
    "api": _HANDLERS,
    "runtime": [*_SERVICE, "inbox", "imports"],
    "compat": [*_HANDLERS, "api"],
    "pages": [*_HANDLERS, "api"],
    "archive": [*_COMMENTS, "feedback", "exports", "api", "pages"],
    "monitoring": [*_HANDLERS, "api"],
    "admin": [*_HANDLERS, "api", "monitoring", "exports", "archive"],
    "app": [
        *_HANDLERS,
        "api",
        "inbox",
        "blog",
        "mentions",
        "compat",
        "runtime",
        "pages",
        "monitoring",
        "admin",
    ],
    "cli": [
        *_SERVICE,
        "api",
        "exports",
        "archive",
        "inbox",
        "imports",
        "blog",
        "runtime",
        "app",
    ],
    "__main__": ["cli"],
}

# The only modules that may import these, under whatever name.
ONLY_IMPORTERS: dict[str, frozenset[str]] = {
    "commentsvc._core": frozenset({"http.bridge"}),
}
# `backup.postgresql_dump` passes it on to pg_dump, with the password.
# Who sends requests to addresses of the settings, to addresses of strangers, or to both.
SETTINGS_CLIENTS = frozenset({
    "admin.provider", "admin.snippet", "api.avatars", "auth.oidc", "blog.translations",
    "blog.unlisted",
    "cli.legal", "cli.moved_pages", "cli.translations", "delivery.akismet", "delivery.builds",
    "delivery.classifier", "delivery.judge", "delivery.telegram_buttons", "delivery.webhooks",
    "imports.importer", "imports.sources.blog_pages", "mentions.page_posts", "mentions.poller",
    "pages.reader_sign_in", "util.polite_client",
})  # fmt: skip
STRANGER_CLIENTS = frozenset(
    {"mentions.poller", "mentions.sender", "mentions.verifier", "util.polite_client"}
)
# Which modules use which threads: see `util.threads`.
THREADS: dict[str, set[str]] = {
    "ACCOUNTS": {"admin.login_limit", "admin.passkeys", "admin.sign_in"},
    "RENDERING": {"submissions.renderer"},
    "FOREIGN": {
        "admin.snippet", "blog.sitemap", "blog.translations", "mentions.networks",
        "mentions.page_posts", "mentions.sender",
        "mentions.verifier",
        "util.polite_client",
    },
    "MAILS": {"inbox.receiver"},
    "ANSWERS": {"compat.stacosys", "api.static_files", "http.bridge"},
    "DOWNLOADS": {"http.pieces"},
    "PROCESS": {
        "app", "db.database", "http.bridge", "inbox.imap", "runtime.handover", "runtime.supervisor",
    },
}  # fmt: skip
# Pools of one thread or process for one long work, which they own.
OWN_POOLS = {
    "backup.scheduled",
    "util.threads",
}
OUTGOING = {"h11", "httpx", "aiohttp", "requests", "smtplib", "imaplib", "aiosmtplib"}
# Who connects without these clients: to servers of the settings, and to our own sockets.
CONNECTS = frozenset({
    "cli.client", "cli.doctor.remote", "cli.doctor.local", "delivery.smtp", "inbox.imap",
    "http.listening", "runtime.control", "util.connect", "util.http_client",
})  # fmt: skip
ENVIRONMENT_READERS = frozenset({"settings.loader", "runtime.systemd", "backup.postgresql_dump"})

# Parameters other than `self` and `cls`.
MOST_PARAMETERS = 6
MOST_OF_A_CONSTRUCTOR = 5

# Test files about a rule for several modules.
TESTS_OF_RULES: dict[str, str] = {
    "db.plans": "each query of a request is answered by an index",
    "readers.addresses": "what each comparison of email addresses, in any package, takes as equal",
    "api.comment_reactions": "votes with emoji: lists, the API and the forms together",
    "pages.every_page": "the HTML of each page of any package, and that it names the blog",
    "auth.comparisons": "what each comparison of secrets, in any package, refuses",
    "db.postgresql.pool": "what a pool of connections in front of PostgreSQL allows",
    "api.asked_fields": "what a site asks authors for holds at every door that takes a comment",
    "db.migrations.released": "the database of each release is upgraded, on both engines",
}
# Modules without a test file of their own, and where they are tested instead.
TESTED_ELSEWHERE: dict[str, str] = {
    "": "it holds nothing but a docstring",
    "__main__": "tests/e2e: the program is started as `python -m commentsvc`",
    "admin.api.accounts": "admin/api/test_token_access: accounts, invitations, tokens, profiles",
    "admin.api.comments": "admin/api/test_token_access: lists and decisions",
    "admin.api.password_check": "admin/test_reauthentication: what a token alone cannot do",
    "admin.api.queue_stream": "admin/api/test_token_access: what is told, and to whom",
    "admin.api.service": "admin/api/test_token_access: bans, outbox and settings",
    "admin.api.threads": "admin/api/test_token_access: the changes of a page",
    "admin.thread_moderation": "admin/api/test_thread_moderation: who agrees, and to which page",
    "auth.blog_sessions": "admin/api/test_thread_moderation: codes, tokens, and what ends them",
    "moderation.in_thread": "admin/api/test_thread_moderation: each act, and two moderators",
    "delivery.settings_rows": "admin/test_settings: formulas and mails follow the settings",
    "moderation.stored_settings": "admin/test_settings: what is stored, undone and forgotten",
    "settings.everyday": "admin/test_settings: each setting, there and back",
    "admin.invite": "admin/test_accounts and api/test_token_access: what a link makes",
    "auth.attempts": "admin/test_login_limit: how many, by whom, and at which instance",
    "auth.api_tokens": "admin/api/test_token_access: what a token may do, and what ends it",
    "auth.identities": "admin/test_provider: whose account is found",
    "auth.oidc": "admin/test_provider: what a provider says, and what it must not",
    "auth.first_owner": "admin/test_first_owner: what the link makes, and what ends it",
    "auth.invitations": "admin/test_accounts: what a link makes, and what ends it",
    "api.vote_limit": "api/test_author and test_reactions: votes of networks, and of wide ones",
    "api.errors": "http/test_router: what each failure means to a client",
    "cli.doctor.hints": "tests/proxy/test_doctor.py: the line is told for each fault",
    "cli.doctor.command": "tests/proxy/test_doctor.py",
    "delivery.mail_contents": "delivery/test_mail: what each mail shows",
    "delivery.mail_kinds": "delivery/test_mail: who gets which",
    "delivery.mail_trial": "cli/test_mail: a mail server that works, and others",
    "delivery.telegram": "test_webhooks and test_telegram_buttons: its messages",
    "markup.footnotes": "markup/test_markdown: their ids, and hostile ones",
    "comments.rendering": "markup/test_people: mentions and formulas in a thread",
    "readers.follows": "pages/test_follow: from the form to the mails",
    "readers.mailed_comments": "pages/test_comments_by_mail: from the mail to the comment",
    "inbox.comment_mail": "pages/test_comments_by_mail: who sent it, and for which page",
    "readers.accounts": "pages/test_reader_sign_in: who signs in, and what it allows",
    "readers.former_ids": "readers/test_addresses: links in mails that name a row that went",
    "auth.blog_tokens": "pages/test_reader_sign_in: what the blog's login says, and must not",
    "db.schema.tables": "db/migrations/test_upgrade: the steps give the schema of the models",
    "db.schema.readers": "db/migrations/test_upgrade: the steps give the schema of the models",
    "comments.site_rows": "app and comments/test_queries: sites of the settings",
    "comments.popular": "api/test_comments: pages in each period, and what has passed",
    "errors": "http/test_router: what each failure means to a client",
    "context": "it has fields only",
    "auth.reply_addresses": "inbox/test_message: forged words, other letters, rotated keys",
    "cluster.notifications": "cluster/test_instance: what one says, the other one hears",
    "util.database_cost": "http/test_miss_limit: what a slow query costs a network",
    "db.errors": "everywhere: what each means is tested where it is raised",
    "markup.image_names": "comments/test_images: names, and what has none",
    "db.sqlite_files": "db/sqlite/test_connection: it passes on",
    "db.postgresql_sessions": "db/postgresql/test_connection: it passes on",
    "db.peers": "cluster/test_instance: instances, commands, and what a COMMIT tells",
    "backup.result": "backup/test_archive and test_postgresql_dump: why nothing was restored",
    "db.postgresql.schema": "db/postgresql/test_upgrade: the tables of the models",
    "inbox.inbox": "inbox/test_receiver: each mail once, and a bound for each address",
    "pages.comment_page": "mentions/test_sender: as the source of a webmention",
    "admin.notes": "moderation/test_private_notes: the page, answers and thanks",
    "admin.saved_replies": "moderation/test_saved_replies: the page, and what it refuses",
    "blog.sitemap": "blog/test_unlisted and mentions/test_page_posts: what is listed, and how much",
    "cli.moved_pages": "cli/test_threads: what is searched, shown and moved",
    "cli.trial": "e2e/test_stored_settings: beside the server and alone",
    "cli.translations": "cli/test_threads: what is searched, shown and merged",
    "markup.foreign_html": "mentions/test_verifier and util/test_threads: how long it takes",
    "mentions.comments": "mentions/test_verifier and test_poller: what becomes of a mention",
    "mentions.store": "mentions/test_verifier: from the request to the comment",
    "mentions.networks": "mentions/test_poller: servers that answer like real ones",
    "util.polite_client": "mentions/test_poller: how often which server is asked",
    "mentions.endpoint": "mentions/test_verifier: from the request to the comment",
    "mentions.html_page": "mentions/test_verifier: pages of another server",
    "inbox.phrases": "inbox/test_commands and test_automatic: in each language",
    "inbox.hook": "inbox/test_receiver: with the secret and without",
    "inbox.html_text": "inbox/test_reply_text and test_message: HTML of programs, and hostile",
    "db.schema.inbox": "db/migrations/test_upgrade: the steps give the schema of the models",
    "db.schema.mentions": "db/migrations/test_upgrade: the steps give the schema of the models",
    "db.schema.imports": "db/migrations/test_upgrade: the steps give the schema of the models",
    "db.schema.outbox": "db/migrations/test_upgrade: the steps give the schema of the models",
    "db.migrations.steps": "test_upgrade: the schema they make",
    "spam.opinion": "delivery/test_classifier: what an opinion changes",
    "delivery.decision_links": "delivery/test_mail and test_webhooks: where each link leads",
    "delivery.channel": "test_smtp and test_worker: what each failure means",
    "imports.dates": "test_detect: the dates of each format",
    "imports.sources.encodings": "test_detect and test_xml_records: files in several encodings",
    "imports.sources.files": "test_detect: packed files, and bombs",
    "imports.sources.json_files": "test_detect: the formats that are JSON",
    "imports.staging.pages": "test_store and cli/test_imports: maps, and pages that are merged",
    "imports.importer": "cli/test_imports: from the files to the database",
    "cli.import_database": "cli/test_imports: with a server and without",
    "imports.records": "test_detect: these are what the parsers give",
    "imports.report": "cli/test_imports: what is told",
    "imports.sources.sqlite_files": "test_detect: the formats that are databases",
    "imports.staging.staging": "test_store: from the staging database into the database",
    "imports.staging.reading": "test_store: from the staging database into the database",
    "imports.staging.authors": "test_store: whose a comment is",
    "imports.store.imported_records": "test_native_store: an export, and an import taken back",
    "imports.staging.convert": "test_store: what comments are stored with",
    "imports.staging.writing": "test_store: what comments are stored with",
    "settings.schema": "test_loader: each value in and out of its bounds",
    "settings.types": "test_loader: each value in and out of its bounds",
    "exports.columns": "imports/store/test_native_store: an export, and its import",
    "exports.disqus": "exports/test_wordpress: all formats of other programs",
    "exports.formats": "cli/test_export and admin/test_downloads: each format",
    "exports.output": "exports/test_ndjson",
    "exports.xml_text": "exports/test_wordpress: hostile texts",
    "compat.isso.messages": "compat/isso/test_routes: requests go in, responses come out",
    "compat.common": "compat/isso/test_routes and foreign: each of their routes",
    "compat.two_levels": "compat/isso/test_routes and foreign: lists in each order",
    "db.schema.notes": "moderation/test_private_notes: what is stored, shown and deleted",
    "moderation.authorized": "admin/test_routes: by each account, on its own sites and on others",
    "moderation.history": "moderation/test_changes: what is in it",
    "moderation.undo": "moderation/test_changes: what each undo gives back",
    "moderation.permissions": "admin/test_routes: each route by each role",
    "moderation.review": "admin/test_review_queue: the lists as pages",
    "model": "everywhere: these are the words of all tests",
    "submissions.service": "api/test_submit: what a submission meets, with a request and without",
    "util.templates": "test_embed and test_mail: all that is written by templates",
    "util.digest": "auth and feedback: who is recognized by what the database has",
    "util.text": "test_forms: encodings; the rest where it is used: submissions, bans and rules",
}
CORE_TESTED_ELSEWHERE: dict[str, str] = {
    "python/module": "tests/wire: it needs Python",
    "python/request_object": "tests/wire: it needs Python",
    "python/server_object": "tests/wire: it needs Python",
    "http/scan_any": "tests/core/http/test_scan.c, where it is the one in use",
    "http/scan_arm": "likewise; ./test arm runs it in qemu",
    "http/scan_x86": "tests/core/http/test_scan.c, which runs all that the processor can",
}

# The folders of the core, and the folders whose headers each may include.
CORE_FOLDERS: dict[str, frozenset[str]] = {
    "base": frozenset(),
    "http": frozenset({"base"}),
    "bridge": frozenset({"base", "http"}),
    "cache": frozenset({"base", "http", "bridge"}),
    "sse": frozenset({"base", "http", "bridge"}),
    "io": frozenset({"base", "http"}),
    "server": frozenset({"base", "http", "bridge", "cache", "sse", "io"}),
    "python": frozenset({"base", "http", "bridge", "cache", "sse", "server"}),
}

# The core knows HTTP, bytes, keys and tags. These words belong to our domain or to other formats.
FOREIGN_TO_CORE = re.compile(
    r"\b(authors?|blogs?|comments?|html|json|markdown|moderat\w+|peewee|sites?|sql(ite)?\w*"
    r"|submissions?|verdicts?|widgets?)\b",
    re.IGNORECASE,
)

C_LINE = 100  # columns
# New in Python 3.11.4 (tarfile, shutil), 3.11.9 (expat), 3.11.10 (email), 3.11.13 (os.path).
LATER_ARGUMENTS = {
    "extract": {"filter"},
    "extractall": {"filter"},
    "unpack_archive": {"filter"},
    "getaddresses": {"strict"},
    "parseaddr": {"strict"},
}
LATER_NAMES = {
    "ALLOW_MISSING", "GetReparseDeferralEnabled", "SetReparseDeferralEnabled", "data_filter",
    "extraction_filter", "fully_trusted_filter", "tar_filter", "verify_generated_headers",
}  # fmt: skip
README_LINES = 150
FOLDER_README_LINES = 60
PACKAGE_README_LINES = 15


def python_files(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the nodes of a module of the package, which many rules look at."""
    return tuple(ast.walk(ast.parse(path.read_text())))


@pytest.fixture(autouse=True, scope="module")
def forgotten_nodes() -> Iterator[None]:
    """Give their memory back when all rules have looked at them."""
    yield
    nodes.cache_clear()


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the full names that a module imports, including those for type checkers."""
    names: list[str] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


def module_of(path: Path) -> str:
    """Return the dotted name below the package of the module at `path`; "" for the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def layer(module: str) -> str:
    """Return the name in the table of what a module belongs to: its package, or itself."""
    return module.split(".")[0]


def layers_of(path: Path) -> set[str]:
    """Return the layers that the module at `path` imports."""
    names = [name.removeprefix("commentsvc.") for name in imports(path) if "commentsvc." in name]
    return {layer(name) for name in names}


def lines_of(path: Path) -> int:
    return path.read_text().count("\n")


def over(budget: int, sizes: dict[str, int]) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if size > budget}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_imports_point_down_the_table_only() -> None:
    wrong = []
    for path in python_files(PACKAGE):
        package = layer(module_of(path))
        assert package in ALLOWED or path == PACKAGE / "__init__.py", f"a new package: {package}"
        wrong += [
            f"{module_of(path)} imports {name}"
            for name in sorted(layers_of(path) - {package, "_core"})
            if name not in ALLOWED[package]
        ]
    assert not wrong


def test_the_table_itself_has_no_circle_and_its_readme_has_the_same_order() -> None:
    order = list(ALLOWED)
    cells = re.findall(r"(?m)^\| (`\w.*?) \|", (PACKAGE / "README.md").read_text())
    shown = [name for cell in cells for name in re.findall(r"`(\w+)(?:/|\.py)`", cell)]
    assert [name for name in shown if name != "templates"] == order[:-1]
    for number, package in enumerate(order):
        assert {*ALLOWED[package]} <= {*order[:number], "_core"}, package


def test_modules_of_a_package_do_not_import_each_other_in_a_circle() -> None:
    below = {
        module_of(path): {
            known
            for name in imports(path)
            for known in (
                name.removeprefix("commentsvc."),
                name.removeprefix("commentsvc.").rpartition(".")[0],
            )
        }
        for path in python_files(PACKAGE)
    }
    graph = {name: sorted(targets & {*below} - {name}) for name, targets in below.items()}
    list(TopologicalSorter(graph).static_order())  # raises CycleError


@pytest.mark.parametrize("name", ONLY_IMPORTERS)
def test_a_guarded_module_is_imported_only_where_it_may_be(name: str) -> None:
    importers = {
        module_of(path)
        for path in python_files(PACKAGE)
        for imported in imports(path)
        if f"{imported}.".startswith(f"{name}.")
    }
    assert importers <= ONLY_IMPORTERS[name]


def test_only_db_and_backup_know_the_engines() -> None:
    """Others use `db.sqlite_files` and `db.postgresql_sessions`; `backup` copies between them."""
    importers = {
        module_of(path).partition(".")[0]
        for path in python_files(PACKAGE)
        for imported in imports(path)
        if f"{imported}.".startswith(("commentsvc.db.sqlite.", "commentsvc.db.postgresql."))
    }
    assert importers == {"db", "backup"}


def text_of(constant: str | bytes) -> str:
    return constant.decode("latin-1") if isinstance(constant, bytes) else constant


# In backquotes or capitals, but no names of this project's.
NAMES_OF_OTHERS = {
    "CAP_SYS_ADMIN", "MSG_CMSG_CLOEXEC", "SCM_RIGHTS", "SO_REUSEPORT", "WIDTHxHEIGHT", "_core.pyi",
    "closed_REASON", "fass.de", "faß.de", "latency_MICROSECONDS", "location.pathname",
    "module.function", "refused_STATUS", "spam.5", "text.N",
}  # fmt: skip


def split_prose(path: Path) -> tuple[str, str]:
    """Return the code of a module, and its docstrings and comments."""
    lines, prose = path.read_text().splitlines(), []
    for node in nodes(path):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and ast.get_docstring(node):
            part = slice(node.body[0].lineno - 1, node.body[0].end_lineno)
            prose += lines[part]
            lines[part] = [""] * len(lines[part])
    comment = re.compile(r"(?m)(?:^|\s)#.*")
    code = "\n".join(lines)
    return comment.sub("", code), "\n".join([*prose, *comment.findall(code)])


# What the parts of a package may use of the others, as its README says.
PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "imports": {
        "sources": ("records", "dates"),
        "formats": ("records", "dates", "sources"),
        "staging": ("records", "dates"),
        "store": ("records", "dates", "staging.reading"),
    },
    "db": {
        "schema": (),
        "query": ("schema",),
        "connection": ("query",),
        "sqlite": ("connection", "errors"),
        "postgresql": ("connection", "errors", "migrations", "peers", "query", "schema"),
    },
}


@pytest.mark.parametrize("package", PARTS)
def test_the_parts_of_a_package_use_each_other_as_its_readme_says(package: str) -> None:
    wrong = []
    for part, others in PARTS[package].items():
        known = tuple(f"commentsvc.{package}.{each}" for each in (part, *others))
        folder = PACKAGE / package / part
        for path in python_files(folder) or [folder.with_suffix(".py")]:
            found = (name for name in imports(path) if name.startswith(f"commentsvc.{package}."))
            wrong += [f"{relative(path)}: {name}" for name in found if not name.startswith(known)]
    assert wrong == []


def test_the_server_uses_of_imports_what_their_readme_says() -> None:
    used = {
        name.split(".")[2]
        for path in python_files(PACKAGE)
        if layer(module_of(path)) not in ("imports", "cli")
        for name in imports(path)
        if name.startswith("commentsvc.imports.")
        if not name.startswith(("commentsvc.imports.records", "commentsvc.imports.staging.reading"))
    }
    assert used == {"store", "sources"}
    assert users_of(r"import .*\bblog_pages\b") == {"blog.sitemap", "imports.importer"}


def test_what_docstrings_and_comments_name_exists() -> None:
    """Names in backquotes with a dot or a capital, and constants; also keys as `spam.max_links`."""
    named = re.compile(r"`([^\W\d]\w*(?:\.\w+)*)(?:\(\))?`|\b([A-Z][A-Z\d]*_[A-Z\d_]*[A-Z\d])\b")
    modules = {path: split_prose(path) for path in python_files(PACKAGE)}
    settings = set(re.findall(r"\w+", modules[PACKAGE / "settings/schema.py"][0]))
    words: dict[str, set[str]] = {"": set()}  # by package and module; "" is for all of them
    for path, (code, _prose) in modules.items():
        *packages, name = path.relative_to(PACKAGE).with_suffix("").parts
        inside = set(re.findall(r"\w+", code))
        for above, below in zip(("", *packages), (*packages, name), strict=True):
            words.setdefault(above, set()).add(below)
        words[""] |= inside
        words.setdefault(name, set()).update(inside)
    wrong = []
    for path, (_code, prose) in modules.items():
        for match in named.finditer(prose):
            name = match[1] or match[2]
            parts = ["", *name.removeprefix("commentsvc.").split(".")]
            is_known = all(
                part in settings or part in words.get(of, words[""]) for of, part in pairwise(parts)
            )
            if re.search(r"[A-Z.]", name) and name not in NAMES_OF_OTHERS and not is_known:
                wrong.append(f"{relative(path)}: {name}")
    assert wrong == []


def test_no_group_of_a_pattern_is_possessive_or_atomic() -> None:
    """Python 3.11.2, which Debian 12 has, matches some of these wrongly; characters are right."""
    character = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
    possessive = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")
    assert possessive.search(character.sub("x", r"(?:[)]a)*+"))
    assert not possessive.search(character.sub("x", r"[^]()*+]\)++"))
    found = [
        f"{path.name}:{node.lineno}"
        for path in python_files(PACKAGE)
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        if possessive.search(character.sub("x", text_of(node.value)))
    ]
    assert found == []


def test_two_bounded_tables_are_our_own_and_the_others_from_cachetools() -> None:
    assert users_of(r"\bOrderedDict\(") == {"util.ratelimit", "spam.duplicates"}


# Claims of READMEs and docstrings: which modules have code that matches a pattern.
CLAIMED: dict[str, tuple[str, set[str]]] = {
    "moderation.changes: who changes the status and the text of a comment": (
        r"\bset_(?:status|text)\b|CommentTable\.update\(\s*(?:status|source|\*\*)",
        {"moderation.changes", "moderation.undo", "moderation.retention", "imports.store.store"},
    ),
    "moderation.undo: who deletes rows of the history": (
        r"\bChangeTable\.delete\(|for table in \(ChangeTable,",
        {"imports.store.store", "moderation.retention"},
    ),
    "architecture.md: the writer alone announces and purges": (
        r"\bcaches\.(?:announce|purge)\(|\bbridge\.(?:announce|purge)\(",
        {"app", "db.writer"},
    ),
    "admin.render: who makes HTML that is not escaped": (r"\bMarkup\(", {"admin.comment_view"}),
}


@pytest.mark.parametrize("claim", CLAIMED)
def test_what_is_said_of_the_users_of_a_thing_is_so(claim: str) -> None:
    pattern, modules = CLAIMED[claim]
    assert users_of(pattern) == modules


def test_templates_leave_only_html_of_comments_a_qr_code_and_json_ld_unescaped() -> None:
    texts = [path.read_text() for path in (PACKAGE / "templates").rglob("*.*")]
    found = {name for text in texts for name in re.findall(r"([\w.]+)\s*\|\s*safe\b", text)}
    html = {"card.html", "comment.html", "entry.comment.html", "quotation.html"}
    html.add("options.guidelines")
    assert found == {*html, "picture", "structured"}


# Numbers of SECURITY.md: the constant or setting, its value as the code has it, and the words.
PROMISED: dict[str, tuple[str, str]] = {
    "markup.markdown.EXPANSION": ("8", "at most 8 times as large as its source"),
    "markup.markdown.ALLOWANCE": ("4096", "as large as its source plus 4 KiB"),
    "markup.markdown.REFERENCES": ("256", "a text with more than 256 references"),
    "markup.formulas.LENGTH": ("500", "A formula has at most 500 characters"),
    "markup.people.MOST": ("20", "mentions beyond 20"),
    "submissions.renderer.LONG": ("2000", "more than 2,000 characters are rendered outside"),
    "api.submit.PREVIEWS": ("'60/minute'", "A network gets 60 previews a minute"),
    "comments.pagination.TEXTS": ("800000", "at most 800,000 bytes of their texts"),
    "comments.pagination.AROUND": ("300", "300 bytes for each"),
    "comments.pagination.REACTION": ("200", "200 for each kind of reaction to it"),
    "moderation.history.SHOWN": ("50", "shown with its last 50 changes"),
    "inbox.inbox.HOURLY": ("30", "At most 30 mails an hour are accepted from one address"),
    "inbox.hook.WRONG_SECRETS": ("'20/hour'", "After 20 wrong secrets at `/api/inbox` in an hour"),
    "inbox.message.MAIL_SIZE": ("4 * 1024 * 1024", "before they are parsed (4 MiB,"),
    "inbox.message.TEXT_LINES": ("10000", "so are their lines (10,000 of text)"),
    "readers.mailed_comments.ALL_HOURLY": ("30", "Such mails go at most 30 an hour"),
    "readers.mailed_comments.ALL_DAILY": ("150", "and 150 a day to all addresses together"),
    "readers.mailed_comments.DAILY": ("20", "20 a day to one"),
    "readers.mailed_comments.UNCONFIRMED": ("3", "and 3 within 30 days to an address"),
    "readers.mailed_comments.TIME": ("2 * DAY_MS", "are deleted after two days"),
    "readers.mailed_comments.KEPT": ("30 * DAY_MS", "a digest of the address after 30"),
    "pages.comments_by_mail.ADDRESS_DAYS": ("30", "and expires after 30 days"),
    "readers.accounts.SESSIONS": ("50", "A reader has at most 50 sessions"),
    "pages.reader_sign_in.PER_ADDRESS": ("Rate(5, DAY_MS)", "gets at most 5 links a day"),
    "pages.personal_data.PER_NETWORK": ("Rate(10, DAY_MS)", "a network asks for at most 10"),
    "pages.personal_data.DOWNLOADS": ("Rate(10, DAY_MS)", "downloads it at most 10 times a day"),
    "pages.follow.PER_ADDRESS": ("Rate(5, DAY_MS)", "is asked at most 5 times a day"),
    "submissions.service.QUESTIONS": ("'20/day'", "a network has at most 20 addresses a day"),
    "admin.api.token_access.WRONG_TOKENS": ("'20/hour'", "After 20 wrong tokens in an hour"),
    "admin.login_limit.PER_NETWORK": ("Rate(20, HOUR_MS)", "A network gets 20 attempts an hour"),
    "admin.own_account.MAILS_TO_ADDRESS": ("Rate(5, DAY_MS)", "at most 5 such links a day"),
    "util.http_client.DEADLINE": ("20.0", "Time (20 s with all redirects)"),
    "util.http_client.STRANGER_PORTS": ("(80, 443)", "the ports 80 and 443 only"),
    "util.connect.LOOKUPS": ("64", "at most 64 lookups are made at once"),
    "util.http_client.REDIRECTS": ("5", "through at most 5 redirects"),
    "imports.sources.blog_pages.ENTRIES": ("50000", "A sitemap with more than 50,000 addresses"),
    "imports.sources.blog_pages.LIMIT": ("50 * 1024 * 1024", "more than 50 MiB once it is"),
    "blog.unlisted.AT_ONCE": ("200", "for at most 200 pages, one each second"),
    "blog.unlisted.SITEMAPS": ("300", "nor are more than 300"),
    "mentions.verifier.SOURCE_SIZE": ("1048576", "in 20 s and 1 MiB"),
    "markup.foreign_html.TAGS": ("20000", "at most 20,000 tags"),
    "markup.foreign_html.ELEMENTS": ("6000", "6,000 elements"),
    "markup.foreign_html.OPEN": ("500", "of which 500 are open at once"),
    "markup.foreign_html.REFERENCES": ("20000", "20,000 character references"),
    "mentions.endpoint.RATE": ("'60/hour'", "the pages of one host, may send 60 an hour"),
    "mentions.store.MOST_WAITING": ("1000", "1,000 may wait"),
    "mentions.networks.REPLIES": ("300", "At most 300 replies are read"),
    "util.polite_client.ANSWER_SIZE": ("4194304", "have at most 4 MiB of JSON"),
    "util.polite_client.MEMORY": ("16777216", "at most 16 MiB of memory"),
    "spam.pending_limit.SITE_PENDING": ("10000", "10,000 of one site, may wait for approval"),
    "outbox.HOURLY": ("20", "A moderator gets at most 20 mails an hour"),
    "util.ratelimit.WIDE": ("3", "at most three times as much as one of them"),
    "http.forms.FIELDS": ("256", "a form has at most 256 fields"),
    "feedback.votes.NETWORK_VOTES": ("20", "at most 20 votes from an IPv4 /24"),
    "api.vote_limit.WIDE_VOTES": ("f'{3 * NETWORK_VOTES}/day'", "60 a day from an IPv6 /48"),
    "api.image_worker.SECONDS": ("10", "10 s of CPU time, two at a time"),
    "api.images.AT_ONCE": ("2", "10 s of CPU time, two at a time"),
    "api.image_worker.JPEG_PIXELS": ("50000000", "JPEGs of up to 50 million pixels"),
    "api.image_worker.PIXELS": ("25000000", "other kinds of up to 25 million"),
    "comments.images.SHARE": ("10", "take at most a tenth of a site's"),
    "api.images.UPLOADS": ("'20/day'", "only the limit of 20 a day"),
    "runtime.maintenance.DELETED_DAYS": ("30", "those of deleted comments after 30 days"),
    "settings.schema.max_streams": ("5000", "500 of the 5,000 streams"),
    "settings.schema.max_network_streams": ("500", "500 of the 5,000 streams"),
    "settings.schema.max_client_mib": ("64", "`server.max_client_mib` (64 MiB)"),
    "moderation.private_notes.MOST": ("1000", "at most 1,000 that wait and 1,000 that are spam"),
    "moderation.private_notes.FLOOD": ("20", "after 20 in an hour"),
    "settings.schema.pending_limit": ("'20/day'", "At most 20 comments a day from one network"),
    "spam.dry_run.MOST": ("2000", "reads at most 2,000 comments for at most 5 s"),
    "spam.dry_run.LONGEST_MS": ("5000.0", "reads at most 2,000 comments for at most 5 s"),
    "settings.schema.miss_limit": ("'6000/minute'", "One network may cause 6 s of work a minute"),
}


@pytest.mark.parametrize("name", PROMISED)
def test_a_number_that_is_promised_is_that_of_the_code(name: str) -> None:
    value, words = PROMISED[name]
    module, _, constant = name.rpartition(".")
    tree = ast.parse((PACKAGE / f"{module.replace('.', '/')}.py").read_text())
    found = {
        ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if getattr(target, "id", "") == constant
    }
    assert found == {value}
    assert words in " ".join((ROOT / "SECURITY.md").read_text().split())


# Tables that an export leaves out, see `exports.contents`: a new one is exported, or stands here.
NOT_EXPORTED: dict[str, str] = {
    "accounts, and what opens them": (
        "ApiToken BlogSession Identity Invitation Moderator Passkey RecoveryCode Session"
        " SignInAttempt"
        " TwoFactor"
    ),
    "sessions of readers, and links": "FormerId ReaderSession ReaderSkeleton SignInLink UsedLink",
    "the outbox and the inbox": "MailedComment Mailbox Outbox ReceivedMail Target",
    "what was found at other servers": "FollowedPost Mention UnlistedPage",
    "what an import has stored": "Import ImportedRecord ImportedThread",
    "numbers of decisions of this service": "DecisionCount",
    "what can be computed again": "DailyStats ReactionCount RemovedSpam SearchState",
}
# Tables with addresses or networks of persons, and the module that deletes or empties them.
PERSONAL: dict[str, str] = {
    "CommentTable": "moderation/retention",
    "VoteTable": "moderation/retention",
    "NoteTable": "moderation/private_notes",
    "ReactionTable": "moderation/retention",
    "ImageTable": "moderation/retention",
    "OutboxTable": "moderation/retention",
    "SubscriberTable": "moderation/retention",
    "FollowerTable": "readers/follows",
    "ReaderTable": "readers/accounts",
    "SignInLinkTable": "readers/accounts",
    "ReportTable": "feedback/reports",
    "ReceivedMailTable": "inbox/inbox",
    "MailedCommentTable": "readers/mailed_comments",
    "SessionTable": "auth/sessions",
    "ModeratorTable": "moderation/profiles",
    "InvitationTable": "auth/invitations",
    "TargetTable": "outbox",
}


def tables() -> dict[str, str]:
    """Return the code of each class of a table, by its name."""
    return {
        node.name: ast.unparse(node)
        for path in python_files(PACKAGE / "db/schema")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Table") and node.name != "Table"
    }


def test_each_table_is_exported_or_is_known_not_to_be() -> None:
    code = " ".join(path.read_text() for path in python_files(PACKAGE / "exports"))
    left_out = {f"{name}Table" for names in NOT_EXPORTED.values() for name in names.split()}
    assert {name for name in tables() if not re.search(rf"\b{name}\b", code)} == left_out


def test_each_table_with_an_address_or_a_network_of_a_person_is_emptied_somewhere() -> None:
    personal = re.compile(r"\n    (?:email|recipient|network|user_agent) = ")
    assert {name for name, code in tables().items() if personal.search(code)} == {*PERSONAL}
    for name, module in PERSONAL.items():
        code = (PACKAGE / f"{module}.py").read_text()
        assert re.search(rf"\b{name}\b", code), f"{module} does not know {name}"
        assert ".delete(" in code, module


def test_only_the_settings_and_systemd_read_the_environment() -> None:
    readers = {
        module_of(path)
        for path in python_files(PACKAGE)
        if re.search(r"\bos\.(environ|getenv)\b", path.read_text())
    }
    assert readers <= ENVIRONMENT_READERS


def users_of(pattern: str) -> set[str]:
    """Return the modules whose code matches a pattern."""
    found = re.compile(pattern)
    return {module_of(path) for path in python_files(PACKAGE) if found.search(path.read_text())}


def test_every_request_to_others_is_of_one_of_two_kinds_of_addresses() -> None:
    """See `util.http_client`: a caller belongs to one list, so that nobody mixes them up."""
    assert users_of(r"\bSettingsClient\b") - {"util.http_client"} == SETTINGS_CLIENTS
    assert users_of(r"\bStrangerClient\b") - {"util.http_client"} == STRANGER_CLIENTS
    importers = {
        module_of(path)
        for path in python_files(PACKAGE)
        for name in imports(path)
        if name.split(".")[0] in OUTGOING or name in ("http.client", "urllib.request")
    }
    connecting = users_of(r"\bopen_connection\(|\bcreate_connection\(|\bgetaddrinfo\(")
    assert importers | connecting <= CONNECTS


@pytest.mark.parametrize("name", THREADS)
def test_threads_are_used_by_the_modules_in_the_list_only(name: str) -> None:
    importers = {
        module_of(path)
        for path in python_files(PACKAGE)
        if f"commentsvc.util.threads.{name}" in imports(path)
    }
    assert importers == THREADS[name]


def test_nothing_uses_the_threads_of_asyncio() -> None:
    """They are few, and shared: one slow user of them holds up all others."""
    assert not users_of(r"asyncio\.to_thread\(|run_in_executor\(\s*None|import to_thread")
    assert users_of(r"\b(Thread|Process)PoolExecutor\(") == OWN_POOLS


def test_nothing_forks() -> None:
    """Two processes would give the same edit tokens (`auth.edit_tokens` draws bits for many)."""
    assert not users_of(
        r"\bos\.fork|\bforkpty\(|[\"']fork(server)?[\"']|multiprocessing|ProcessPool"
    )


def test_no_page_of_ours_may_be_framed() -> None:
    """A page in a foreign frame takes clicks that are meant for something else."""
    policies = [
        node.value
        for path in python_files(PACKAGE)
        for node in nodes(path)
        if isinstance(node, ast.Constant) and str(node.value).startswith("default-src ")
    ]
    assert len(policies) > 4
    for policy in policies:  # pictures have a sandbox instead
        assert str(policy).endswith(("; sandbox", "; frame-ancestors 'none'")), policy


def test_only_the_clock_tells_the_time() -> None:
    """Commands may measure their own time; all other code takes a Clock, which tests can set."""
    readers = {
        module_of(path)
        for path in python_files(PACKAGE)
        if re.search(
            r"\b(time\.(time|monotonic|perf_counter)\w*|datetime\.now)\(", path.read_text()
        )
    }
    assert {name for name in readers if not name.startswith("cli.")} == {"util.clock"}


def core_includes() -> dict[str, set[str]]:
    """Return what each module of the core includes: a header and its source are one module."""
    found: dict[str, set[str]] = {}
    for path in CORE.glob("*/*.[ch]"):
        module = f"{path.parent.name}/{path.stem}"
        names = re.findall(r'^#include "(.*)\.h"', path.read_text(), re.MULTILINE)
        found.setdefault(module, set()).update(name for name in names if name != module)
    return found


def test_the_folders_of_the_core_include_only_what_they_may() -> None:
    modules = core_includes()
    assert {module.split("/")[0] for module in modules} == set(CORE_FOLDERS)
    wrong = [
        f"{module} includes {name}"
        for module, names in modules.items()
        for folder, name in ((module.split("/")[0], name) for name in names)
        if name.split("/")[0] not in {folder, *CORE_FOLDERS[folder]}
    ]
    assert not wrong


def test_the_modules_of_the_core_include_one_another_in_no_circle() -> None:
    try:
        TopologicalSorter(core_includes()).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of includes: {' -> '.join(error.args[1])}")


def test_only_the_python_folder_of_the_core_includes_python() -> None:
    including = {
        path.parent.name for path in CORE.glob("*/*.[ch]") if "Python.h" in path.read_text()
    }
    assert including == {"python"}


def test_only_the_mailboxes_of_the_core_have_locks() -> None:
    locking = {path.stem for path in CORE.glob("*/*.[ch]") if "pthread_mutex" in path.read_text()}
    assert locking == {"mailbox"}


def test_the_core_has_no_word_of_ours() -> None:
    found = [
        f"{relative(path)}:{number}: {match.group()}"
        for path in sorted(CORE.glob("*/*.[ch]"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (match := FOREIGN_TO_CORE.search(line))
    ]
    assert not found


def test_every_module_has_its_test_file() -> None:
    """`commentsvc/spam/bayes.py` is tested by `tests/unit/spam/test_bayes.py`."""
    unit = ROOT / "tests/unit"
    tested = {
        ".".join((*path.relative_to(unit).parent.parts, path.stem.removeprefix("test_")))
        for path in unit.rglob("test_*.py")
        if path.relative_to(unit).parts[0] != "loadtest"
    }
    modules = {module_of(path) for path in python_files(PACKAGE) if path.stat().st_size}
    # `imports/test_formats` asks for a file of each format, and `test_detect` has its details.
    modules -= {each for each in modules - tested if each.startswith("imports.formats.")}
    assert modules - tested == set(TESTED_ELSEWHERE), "and nothing is listed in vain"
    assert tested - modules == set(TESTS_OF_RULES), "a test file has lost its module"


def included(path: Path) -> set[str]:
    """Return what a C test includes, by itself and through the headers that the tests share."""
    names = set(re.findall(r'^#include "(.*)\.h"', path.read_text(), re.MULTILINE))
    shared = [ROOT / "tests/core" / f"{name}.h" for name in names]
    return names.union(*(included(header) for header in shared if header.exists()))


def test_every_c_file_is_included_by_a_test_of_its_folder() -> None:
    tested = {
        name
        for path in (ROOT / "tests/core").glob("*/test_*.c")
        for name in included(path)
        if name.startswith(f"{path.parent.name}/")
    }
    files = {f"{path.parent.name}/{path.stem}" for path in CORE.glob("*/*.c")}
    assert files - tested == set(CORE_TESTED_ELSEWHERE), "and nothing is listed in vain"


def test_every_c_test_is_built() -> None:
    tests = {
        f"{path.parent.name}/{path.stem.removeprefix('test_')}"
        for path in (ROOT / "tests/core").glob("*/test_*.c")
    }
    build = (ROOT / "tests/core/meson.build").read_text()
    assert set(re.findall(r"^  '([\w/]+)'", build, re.MULTILINE)) == tests


def test_no_folder_of_tests_is_forgotten() -> None:
    tests = [*(ROOT / "tests").glob("*/test_*.py"), *(ROOT / "tests").glob("*/*/test_*.c")]
    folders = {path.relative_to(ROOT / "tests").parts[0] for path in tests}
    parts = re.search(r"^    ''\) set -- (.*) ;;$", (ROOT / "test").read_text(), re.MULTILINE)
    assert parts
    assert folders <= set(parts[1].split())


def test_the_page_of_the_interface_is_what_the_routes_declare() -> None:
    assert PAGE.read_text() == page(), "write it anew: `make docs`"


def test_the_page_of_the_settings_is_what_they_are() -> None:
    assert CONFIGURING.read_text() == configuring(), "write it anew: `make docs`"


def test_the_schema_of_exports_is_that_of_the_records() -> None:
    assert EXPORT_SCHEMA.read_bytes() == records.schema(), "write it anew: `make docs`"


def test_lines_of_c_keep_their_budget() -> None:
    """The formatter does not wrap comments."""
    files = [
        *CORE.glob("*/*.[ch]"),
        *(ROOT / "loadtest").rglob("*.[ch]"),
        *(ROOT / "tests").rglob("*.[ch]"),
    ]
    assert not over(
        C_LINE, {relative(path): max(map(len, path.read_text().splitlines())) for path in files}
    )


# The widget's scripts: each imports only scripts further down, also with `import()`, so that
# imports cannot be circular. The map in static/README.md has the same order.
SCRIPTS = [
    "old/stacosys", "old/disqus-count", "comments",
    "thread/actions", "thread/emoji", "thread/deletion", "thread/menu", "thread/reporting",
    "thread/voting", "thread/compose",
    "thread/submitted", "thread/reveal", "thread/live", "thread/fresh", "thread/approval",
    "thread/languages",
    "thread/target", "thread/extras", "thread/moderator_token",
    "thread/moderation", "thread/visits",
    "thread/muting", "thread/click", "thread/searching", "thread/fediverse",
    "thread/own_comments", "thread/own_buttons", "thread/prerendered",
    "thread/contrast", "thread/accent",
    "thread/deleted", "thread/likes", "thread/comment_reactions",
    "corrections", "form/correcting",
    "form/replying", "form/form", "form/sending", "form/preview", "form/refusal", "form/offers",
    "form/asked", "form/private", "reader/reader", "reader/reader_token", "reader/signed_in",
    "pictures/attaching", "pictures/picture_panel", "pictures/uploading",
    "form/toolbar", "form/completion", "form/formatting", "form/proof_of_work", "rich", "code",
    "thread/folding",
    "reactions", "views", "latest", "popular", "search", "reacting", "lists", "excerpt", "count",
    "counts", "copying", "send", "common",
]  # fmt: skip
IMPORTED = re.compile(r'^import [^;"]*"([^"]+)"|\bimport\("([^"]+)"\)', re.MULTILINE)


def scripts_imported_by(script: str) -> set[str]:
    """Return the names of the scripts that `script` imports, at once or when they are used."""
    path = STATIC / f"{script}.js"
    found = {now or later for now, later in IMPORTED.findall(path.read_text())}
    paths = {(path.parent / name).resolve() for name in found}
    return {path.relative_to(STATIC).with_suffix("").as_posix() for path in paths}


def test_each_script_of_the_widget_is_in_one_order() -> None:
    folders = {path.parent for path in STATIC.rglob("*.js")} - {STATIC / "admin"}
    folders = {path for path in folders if path.relative_to(STATIC).parts[:1] != ("demo",)}
    found = [path for folder in folders for path in folder.glob("*.js")]
    assert {path.relative_to(STATIC).with_suffix("").as_posix() for path in found} == {*SCRIPTS}
    table = (STATIC / "README.md").read_text().partition("| file |")[2].partition("\n\n")[0]
    cells = "".join(row.split("|")[1] for row in table.splitlines() if row.startswith("|"))
    assert re.findall(r"`([\w/-]+)\.js`", cells) == SCRIPTS


def test_scripts_of_the_widget_import_only_scripts_further_down() -> None:
    graph = {script: scripts_imported_by(script) for script in SCRIPTS}
    assert {"common", "thread/actions"} < graph["comments"], "the imports were not found"
    upward = [
        f"{script} imports {name}"
        for number, script in enumerate(SCRIPTS)
        for name in graph[script]
        if name not in SCRIPTS[number + 1 :]
    ]
    assert not upward
    assert not graph["count"] - {"counts"}, "a list of pages loads nothing else"


def test_eight_scripts_define_elements_and_one_function_inserts_html() -> None:
    texts = {script: (STATIC / f"{script}.js").read_text() for script in SCRIPTS}
    defines = re.compile(r"(?m)^[\w.]*\bdefine\(")
    defining = [script for script, text in texts.items() if defines.search(text)]
    names = "comments corrections reactions views latest popular search count"
    assert defining == names.split()
    inserts = re.compile(
        r"(?:inner|outer)HTML\s*\+?=|insertAdjacentHTML|document\.write|createContextualFragment"
    )
    assert {
        script: inserts.findall(text) for script, text in texts.items() if inserts.search(text)
    } == {"common": ["innerHTML ="]}


def test_a_script_that_failed_to_load_is_tried_again_by_its_own_address() -> None:
    for script in SCRIPTS:
        path = STATIC / f"{script}.js"
        pairs = re.findall(r'import\("([^"]+)"\)\.catch\(again\("([^"]+)"\)\)', path.read_text())
        for address, again in pairs:
            assert (path.parent / address).resolve() == STATIC / f"{again}.js", script


# Imports the whole package and prints what that did: files written, connections, programs,
# threads, handlers of logs and signals, and all exception objects that exist then, as an attribute,
# a default or in a closure.
IMPORTING = """
import gc, importlib, logging, os, pkgutil, signal, sys, threading
import commentsvc, commentsvc._core  # an editable checkout compiles the core
ACTS = {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "sqlite3.connect", "os.mkdir"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
def watch(event, arguments):
    if event in ACTS or event == "open" and (arguments[2] or 0) & WRITES:
        print(event, *arguments)
sys.addaudithook(watch)
signals = list(map(signal.getsignal, signal.valid_signals()))
for module in pkgutil.walk_packages(commentsvc.__path__, "commentsvc."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
if signals != list(map(signal.getsignal, signal.valid_signals())):
    print("handlers of signals")
print(*threading.enumerate()[1:], *logging.getLogger().handlers, sep="")
for found in gc.get_objects():
    if isinstance(found, BaseException):
        print(repr(found))
"""


def test_importing_a_module_does_nothing_and_makes_no_exception() -> None:
    """Each `raise` of one object lengthens its traceback, whose frames keep the request alive."""
    words = (sys.executable, "-B", "-c", IMPORTING)
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_no_exception_that_is_kept_is_raised() -> None:
    """An error is created where it is raised, or was caught just before."""
    found = [
        f"{relative(path)}:{node.lineno}"
        for path in python_files(PACKAGE)
        for node in nodes(path)
        if isinstance(node, ast.Raise)
        if (isinstance(node.exc, ast.Name) and node.exc.id.isupper())
        or (isinstance(node.exc, ast.Attribute) and not node.exc.attr[0].isupper())
        or (isinstance(node.exc, ast.Attribute) and node.exc.attr.isupper())
    ]
    assert not found


def test_nothing_is_used_that_came_with_a_later_release_of_python_3_11() -> None:
    """Debian 12 has 3.11.2. mypy only finds what came with 3.12."""
    folders = ("commentsvc", "config", "docs", "loadtest", "po", "tests")
    later = re.compile("|".join((*LATER_NAMES, *LATER_ARGUMENTS)))
    found = [
        f"{relative(path)}:{node.lineno}"
        for path in python_files(*(ROOT / name for name in folders))
        if later.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Attribute) and node.attr in LATER_NAMES)
        or (
            isinstance(node, ast.Call)
            and {word.arg for word in node.keywords} & LATER_ARGUMENTS.get(called(node), set())
        )
    ]
    assert not found


def called(node: ast.Call) -> str:
    """Return the last part of the name of what is called; "" if it has none."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def test_an_ignored_type_error_has_its_reason_on_the_line() -> None:
    found = [
        f"{relative(path)}:{number}"
        for path in python_files(
            PACKAGE, ROOT / "tests", ROOT / "loadtest", ROOT / "docs", ROOT / "po"
        )
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"# type: ignore(?!\[[\w, -]+\]\s*# [\w`])", line)
        if path != Path(__file__)
    ]
    assert not found


# What each package of loadtest/ may import from the others.
LOADTEST_IMPORTS: dict[str, frozenset[str]] = {
    "data": frozenset(),
    "harness": frozenset({"data"}),
    "report": frozenset({"harness"}),
    "servers": frozenset({"data", "harness", "report"}),
    "proxies": frozenset({"data", "harness", "report"}),
    "workloads": frozenset({"data", "harness", "report", "servers", "proxies"}),
    "__main__": frozenset({"harness", "report", "servers", "proxies", "workloads"}),
}


def loadtest_imports() -> dict[str, set[str]]:
    """Return the modules of loadtest, by dotted name, that each of its modules imports."""
    folder = ROOT / "loadtest"
    modules = {
        ".".join(path.relative_to(folder).with_suffix("").parts): path
        for path in python_files(folder)
        if path.stem != "__init__"
    }
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        imported = [one.removeprefix("loadtest.") for one in imports(path) if "loadtest." in one]
        # "from a import b" yields a.b: b is a module, or a name in the module a.
        found[name] = {one if one in modules else one.rpartition(".")[0] for one in imported}
    return found


def test_packages_of_the_load_test_import_downward() -> None:
    wrong = [
        f"{name} imports {one}"
        for name, others in loadtest_imports().items()
        for one in others
        if (package := name.partition(".")[0]) != one.partition(".")[0]
        and one.partition(".")[0] not in LOADTEST_IMPORTS[package]
    ]
    assert not wrong


def test_modules_of_the_load_test_import_without_a_circle() -> None:
    TopologicalSorter(loadtest_imports()).prepare()


def test_connections_to_sqlite_are_closed() -> None:
    """`with sqlite3.connect(…)` only ends a transaction; Python 3.13 warns of open connections."""
    found = [
        f"{relative(path)}:{number}"
        for path in python_files(PACKAGE, ROOT / "tests", ROOT / "loadtest")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.match(r"\s*with sqlite3\.connect\(", line)
    ]
    assert not found


def test_a_database_beside_a_service_is_opened_by_one_function() -> None:
    """Any other connection may make a checkpoint, and the service refuses what comes then."""
    without_service = {"tests/e2e/test_errors.py", "tests/pictures.py"}  # at that moment
    outside = {
        relative(path)
        for path in python_files(ROOT / "tests")
        if "sqlite3.connect(" in path.read_text() and ROOT / "tests/unit" not in path.parents
    } - {"tests/test_architecture.py"}
    assert outside - without_service == {"tests/e2e/program.py"}


# Who may wait for a time that passes: pictures are made by hand and looked at.
WAITS_FOR_TIME = {"tests/pictures.py"}
# Who reads the clock of the processor itself: the others use `processor_time`, which allows for a
# busy processor.
READ_PROCESSOR_TIME = {
    "tests/bridge/test_cache_bounds.py",
    "tests/load/test_million_comments.py",
    "tests/unit/db/migrations/test_upgrade.py",
    "tests/unit/processor_time.py",
    "tests/unit/util/test_http_client.py",
}


def test_tests_wait_for_conditions_and_long_enough() -> None:
    """CI runs all parts at once on two slow processors, where any moment may last for seconds."""
    sources = {relative(path): path.read_text() for path in python_files(ROOT / "tests")}
    sources.pop("tests/test_architecture.py")
    timeouts = {path for path, text in sources.items() if "wait_for_timeout" in text}
    assert timeouts == WAITS_FOR_TIME, "wait with `expect`, or with `wait_for`"
    bound = r"asyncio\.(?:timeout\(|wait_for\(.*, )(\d+\.?\d*)\)"
    found = {path: re.findall(bound, text) for path, text in sources.items()}
    assert not {path: each for path, each in found.items() if any(float(s) < 100 for s in each)}
    clock = r"time\.(process_time|thread_time|perf_counter)"
    assert {path for path, text in sources.items() if re.search(clock, text)} == READ_PROCESSOR_TIME


def test_no_test_takes_a_port_that_others_may_take_meanwhile() -> None:
    """A port that is chosen and closed again: `free_port` has one that no client gets."""
    assert not [
        f"{relative(path)}:{node.lineno}"
        for path in python_files(ROOT / "tests")
        for node in nodes(path)
        if isinstance(node, ast.With) and len(node.body) == 1
        if isinstance(node.body[0], ast.Assign) and "getsockname" in ast.unparse(node.body[0])
    ]


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether it is a command of the command line; each parameter of those is an option."""
    return any(".command(" in ast.unparse(one) for one in function.decorator_list)


def test_no_function_is_too_long_to_be_read_at_once() -> None:
    """A function of more than 70 lines has parts that deserve a name."""
    assert not [
        f"{relative(path)}:{node.lineno}: {node.name}"
        for path in python_files(PACKAGE)
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno >= 70
    ]


def test_functions_take_few_parameters() -> None:
    """A function with more parameters needs an object that groups them, as ServiceContext does."""
    found = []
    for path in python_files(PACKAGE):
        for node in nodes(path):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_command(node):
                continue
            all_of_them = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            number = len([one for one in all_of_them if one.arg not in {"self", "cls"}])
            if number > (MOST_OF_A_CONSTRUCTOR if node.name == "__init__" else MOST_PARAMETERS):
                found.append(f"{relative(path)}:{node.lineno}: {node.name}")
    assert not found


def test_a_class_name_occurs_in_one_module_only() -> None:
    modules: dict[str, list[str]] = {}
    for path in python_files(PACKAGE):
        module = nodes(path)[0]
        assert isinstance(module, ast.Module)
        for node in module.body:
            if isinstance(node, ast.ClassDef):
                modules.setdefault(node.name, []).append(module_of(path))
    assert not {name: found for name, found in modules.items() if len(found) > 1}


def test_a_readme_is_short_enough_to_be_read() -> None:
    """The first one introduces the project; those of folders are maps for who changes the code."""
    folders = ("commentsvc", "config", "core", "loadtest", "static", "tests")
    readmes = [path for name in folders for path in (ROOT / name).rglob("README.md")]
    lines = {relative(path): len(path.read_text().splitlines()) for path in readmes}
    assert {name for name, count in lines.items() if count > FOLDER_README_LINES} == set()
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES


def test_the_readme_of_a_package_names_each_of_its_modules_in_few_lines() -> None:
    wrong = []
    for path in PACKAGE.glob("*/README.md"):
        named = {name.strip("/") for name in re.findall(r"`([\w/]+)(?:\.py)?`", path.read_text())}
        there = {each.stem for each in path.parent.glob("*.py") if each.stem != "__init__"}
        there |= {each.parent.name for each in path.parent.glob("*/__init__.py")}
        wrong += [f"{relative(path)} lacks {name}" for name in sorted(there - named)]
        if lines_of(path) > PACKAGE_README_LINES:
            wrong.append(f"{relative(path)} has {lines_of(path)} lines")
    assert not wrong


def test_an_ignored_rule_of_the_linter_has_its_reason_on_the_line() -> None:
    found = [
        f"{relative(path)}:{number}"
        for path in python_files(PACKAGE, ROOT / "tests", ROOT / "loadtest")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"#\s*noqa(?!: [A-Z]+\d+(, [A-Z]+\d+)* - \w)", line)
        if path != Path(__file__)
    ]
    assert not found


def test_a_database_for_the_tests_of_a_module_is_made_for_each_engine() -> None:
    """A fixture of a module that does not depend on the engine would stay the first one's."""
    faults = []
    for path in python_files(ROOT / "tests/unit"):
        if "module" not in (text := path.read_text()):
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and any(
                "scope='module'" in ast.unparse(each) for each in node.decorator_list
            ):
                names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
                arguments = {each.arg for each in node.args.args}
                if names & {"opened", "served"} and not arguments & {"engine", "request"}:
                    faults.append(f"{path.name}: {node.name}")
    assert faults == []
