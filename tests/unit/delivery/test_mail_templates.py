"""Templates of mails: what the operator's may contain, and what happens if they are wrong."""

import logging
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jinja2 import nodes
from msgspec.structs import replace

from commentsvc.auth.signed_links import SignedLinks
from commentsvc.cli.main import main
from commentsvc.delivery import mail_templates
from commentsvc.delivery.mail import MailComposer
from commentsvc.delivery.mail_kinds import KINDS
from commentsvc.delivery.mail_templates import CONTEXTS, NAMES, SIZE, MailTemplates, faults
from commentsvc.util import templates
from commentsvc.util.i18n import languages
from tests.unit.database_fixture import add, opened
from tests.unit.delivery.test_mail import ROW, SETTINGS, part
from tests.unit.every_page import mails, visited

OURS = Path(templates.__file__).parents[1] / "templates/mail"
BLOCK = "{% block content %}{% endblock %}"
FRAME = "{% extends layout %}{% block content %}…{% endblock %}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "templates"
    made.mkdir()
    return made


def write(folder: Path, **texts: str) -> None:
    """Write templates; `__` stands for a dot in a name."""
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)


def composed(tmp_path: Path, folder: Path, language: str = "en", **fields: Any) -> EmailMessage:
    """Return the mail about a comment with those fields."""
    mail = replace(SETTINGS.mail, templates=str(folder), language=language)
    composer = MailComposer(replace(SETTINGS, mail=mail), SignedLinks([b"key" * 16]))
    data = tmp_path / "data"
    data.mkdir(parents=True)
    with opened(data) as database:
        add(database, status="pending", **fields)
        envelope = database.read_now(composer.compose, ROW)
    assert envelope
    return envelope.message


def test_a_template_of_the_operator_replaces_ours_as_text_and_as_html(
    tmp_path: Path, folder: Path
) -> None:
    write(folder, submitted__jinja=FRAME.replace("…", "{{ comments[0].comment.author }} & me"))
    message = composed(tmp_path, folder, author="<Ann>")
    assert part(message, "plain").startswith("<Ann> & me")
    assert "&lt;Ann&gt; & me" in part(message, "html")
    assert "color-scheme" in part(message, "html"), "our layout surrounds it"
    assert message["Subject"] == "[A blog] <Ann> commented on “/post/”"


def test_a_layout_is_that_of_all_mails(tmp_path: Path, folder: Path) -> None:
    layout = "<html><body><p>My blog</p>{% block content %}{% endblock %}</body></html>"
    write(folder, layout__html=layout)
    message = composed(tmp_path, folder)
    assert part(message, "html").startswith("<html><body><p>My blog</p>")
    assert "Hello <em>you</em>" in part(message, "html")
    assert "My blog" not in part(message, "plain")
    assert not list(faults(str(folder)))


def test_a_byte_order_mark_is_not_in_the_mail(tmp_path: Path, folder: Path) -> None:
    write(folder, submitted__jinja="\ufeffHello")
    assert not list(faults(str(folder)))
    assert part(composed(tmp_path, folder), "plain").strip() == "Hello"


def test_a_language_has_its_own_template_where_there_is_one(tmp_path: Path, folder: Path) -> None:
    write(folder, submitted__jinja="All", submitted__de__jinja="Deutsch", layout__fr__txt=BLOCK)
    assert not list(faults(str(folder)))
    for tag, text in (("de", "Deutsch"), ("en", "All"), ("fr", "All")):
        assert part(composed(tmp_path / tag, folder, tag), "plain").strip() == text


def test_each_of_our_templates_is_without_fault_as_one_of_the_operator(folder: Path) -> None:
    for path in OURS.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    for tag in languages():
        (folder / f"reply.{tag}.jinja").write_text(FRAME)
    assert list(faults(str(folder))) == []
    assert {path.name for path in OURS.iterdir()} == {*NAMES}
    assert {*CONTEXTS} == {kind.template for kind in KINDS.values()}


def test_each_mail_has_the_variables_that_are_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, set[str]] = {}
    render = MailTemplates.render

    def noted(self: MailTemplates, name: str, language: Any, **values: Any) -> list[str]:
        given.setdefault(name, set()).update(values)
        assert {*values} <= CONTEXTS[name], name
        assert CONTEXTS[name] - {*values} <= {"language", "layout", "parts", "reports"}, name
        return render(self, name, language, **values)

    monkeypatch.setattr(MailTemplates, "render", noted)
    with visited(tmp_path) as visit:
        mails(visit)
    assert len(given) > 2
    manual = (OURS.parents[2] / "docs/mail.md").read_text().partition("## Your own words")[2]
    for name, known in CONTEXTS.items():
        used = mail_templates._AS_TEXT.environment.parse((OURS / f"{name}.jinja").read_text())
        assert known - mail_templates._ALWAYS <= {each.name for each in used.find_all(nodes.Name)}
        [row] = [line for line in manual.splitlines() if line.startswith(f"| `{name}` |")]
        assert {word for word in known - mail_templates._ALWAYS if f"`{word}`" not in row} == set()


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("reply.jinja", "a\n{% if %}", ", line 2: Expected an expression"),
        ("reply.jinja", "a\n\n{{ quotation.html|loud }}", ", line 3: No filter named 'loud'"),
        ("reply.jinja", "{% block x %}", ", line 1: "),
        (
            "reply.jinja",
            "a\n{{ qoutation }}",
            ', line 2: There is no variable "qoutation". Did you',
        ),
        (
            "own.jinja",
            "{{ stop }}",
            ', line 1: There is no variable "stop". There are: days, erase,',
        ),
        ("layout.html", "{{ colour }}" + BLOCK, ', line 1: There is no variable "colour".'),
        ("reply.jinja", "{% include 'logo.html' %}", ': There is no template "logo.html".'),
        ("reply.jinja", "{% include '../../x' %}", ': There is no template "../../x".'),
        (
            "replies.jinja",
            "",
            ': There is no template "replies.jinja". Did you mean "reply.jinja"?',
        ),
        ("reply.html", "", ': There is no template "reply.html".'),
        ("reply.xx.jinja", "", ': There is no language "xx".'),
        ("reply.jinja", "\udcff", " is not UTF-8. Save it in UTF-8."),
        ("layout.html", "<p>My blog</p>", " has no {% block content %}, where the words"),
        ("layout.de.txt", "", " has no {% block content %}, where the words"),
        ("layout.html", "{% extends 'layout.html' %}" + BLOCK, " includes or extends itself."),
        ("reply.jinja", "{% include 'reply.jinja' %}", " includes or extends itself."),
        ("reply.jinja", "x" * (SIZE + 1), " has more than 256 KiB. Make it shorter."),
    ],
)
def test_a_fault_is_told_with_its_file_and_line(
    folder: Path, name: str, text: str, fault: str
) -> None:
    (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    [line] = faults(str(folder))
    assert line.startswith(f"mail.templates: {folder / name}{fault}")


def test_copies_beside_a_template_keep_no_service_down(folder: Path) -> None:
    for ending in ("~", ".bak", ".orig", ".dpkg-old", ".rpmnew"):
        (folder / f"reply.jinja{ending}").write_text("{{ nobody }}")
    (folder / "#reply.jinja#").write_text("{{ nobody }}")
    assert not list(faults(str(folder)))


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    [line] = faults(str(tmp_path / "none"))
    assert line == f"mail.templates is {tmp_path / 'none'}, which cannot be read: " + (
        "No such file or directory."
    )
    assert not list(faults("")), "none is set"


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("command", ["check", "serve"])
def test_the_service_does_not_start_with_a_faulty_template(
    tmp_path: Path, folder: Path, command: str
) -> None:
    write(folder, reply__jinja="{{ x")
    (tmp_path / "commentsvc.toml").write_text(f'[mail]\ntemplates = "{folder}"\n')
    done = CliRunner().invoke(main, [command, "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert f"mail.templates: {folder}/reply.jinja, line 1: " in done.output


@pytest.mark.parametrize(
    "text",
    [
        "{{ comments[0].nothing.at_all }}",
        "{{ reports.number }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ 1 // 0 }}",
        "{{ comments.append(1) }}",
    ],
)
def test_a_mail_is_made_by_our_template_if_the_other_one_fails(
    tmp_path: Path, folder: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(folder, submitted__jinja=FRAME.replace("…", text))
    assert not list(faults(str(folder))), "this is seen only when a mail is made"
    with caplog.at_level(logging.ERROR):
        message = composed(tmp_path, folder)
    assert "> Hello *you*" in part(message, "plain")
    assert "submitted.jinja failed, so ours is used" in caplog.text


def test_what_readers_write_is_no_template_and_no_header(tmp_path: Path, folder: Path) -> None:
    text = "\r\nBcc: all@evil.example\r\n\r\n{{ comments[0].source }}"
    write(folder, submitted__jinja=FRAME.replace("…", text))
    write(folder, layout__txt="{% block content %}{% endblock %}")
    message = composed(tmp_path, folder, author="{{ 7 * 7 }}", source="{{ 7 * 7 }}{% raw %}<b>")
    assert message["Bcc"] is None
    assert "{{ 7 * 7 }}{% raw %}<b>" in part(message, "plain")
    assert "{{ 7 * 7 }}{% raw %}&lt;b&gt;" in part(message, "html")
    assert "49" not in part(message, "plain")
