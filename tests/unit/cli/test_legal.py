"""The command `legal`, and what `check --legal` says of a published text."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.cli import main
from commentsvc.markup.markdown import render
from tests.unit.other_site import Page, other_site

Run = Callable[..., Result]
CONTACT = 'contact = "Ann, ann@blog.example"'


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command in this process, on a folder with these settings."""

    def run(*words: str, settings: str = f'[[site]]\nlanguage = "de"\n{CONTACT}\n') -> Result:
        (tmp_path / "commentsvc.toml").write_text(settings)
        return CliRunner().invoke(main.main, [*words, "--data", str(tmp_path)])

    return run


def test_each_text_is_written_as_markdown_in_the_language_of_the_site(run: Run) -> None:
    for kind, title in (
        ("privacy", "# Datenschutz der Kommentare"),
        ("processing", "# Verzeichnis von Verarbeitungstätigkeiten"),
        ("facts", "# Angaben zum Kommentardienst"),
    ):
        result = run("legal", kind)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith(title)
        assert f"{kind}-" in result.stdout
    assert run("legal", "privacy", "--lang", "en").stdout.startswith("# Privacy of")


def test_a_wrong_site_or_language_or_none_who_answers_is_told(run: Run) -> None:
    for words, said in ((("--site", "x"), "blog"), (("--lang", "tlh"), "language")):
        result = run("legal", "privacy", *words)
        assert result.exit_code == 1
        assert said in result.stderr
    result = run("legal", "privacy", settings="")
    assert result.exit_code == 1
    assert "Give it a contact" in result.stderr


def test_check_compares_a_published_file_with_the_settings(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "privacy.html"
    page.write_text(render(run("legal", "privacy").stdout))
    assert f"legal: {page} fits the settings" in run("check", "--legal", str(page)).stdout

    changed = f'[[site]]\nlanguage = "de"\n{CONTACT}\nimages = true\n[spam]\nkeep_spam_days = 3\n'
    result = run("check", "--legal", str(page), settings=changed)
    assert result.exit_code == 1
    assert "the privacy text was made from other settings" in result.stderr
    assert "It lacks: Bilder in Kommentaren" in result.stderr
    assert "It lacks: Aufbewahrt für höchstens: 3 Tage." in result.stderr
    assert result.stderr.count("It lacks") == 2


def test_check_says_why_a_published_text_cannot_be_compared(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("Nothing of ours")
    for where, said in (
        (str(tmp_path / "other.md"), "has no line such as Version"),
        (str(tmp_path / "missing.md"), "cannot be read"),
        ("http://127.0.0.1:9/privacy", "cannot be read"),
    ):
        result = run("check", "--legal", where)
        assert result.exit_code == 1
        assert where in result.stderr
        assert said in result.stderr


def test_check_reads_a_published_page(run: Run) -> None:
    text = run("legal", "privacy").stdout
    with other_site() as blog:
        blog.pages["/privacy/"] = Page(render(text))
        blog.pages["/moved"] = Page("", 301, (("Location", "/privacy/"),))
        settings = (
            f'[[site]]\nlanguage = "de"\n{CONTACT}\n[hooks]\nallowed_networks = ["127.0.0.0/8"]\n'
        )
        for path, code in (("/privacy/", 0), ("/moved", 0), ("/none", 1)):
            result = run("check", "--legal", blog.url(path), settings=settings)
            assert result.exit_code == code, result.output
