"""`site rename`, and what `check` says about a site that the settings do not have."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.cli.main import main
from tests.unit.database_fixture import add, environ, opened


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder whose site "blog" has a comment and is called "diary" now."""
    for name, value in environ(tmp_path).items():
        monkeypatch.setenv(name, value)
    with opened(tmp_path) as database:
        add(database)
    (tmp_path / "commentsvc.toml").write_text('[[site]]\nname = "diary"\n')
    return tmp_path


def run(data: Path, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--data", str(data)])


def test_check_names_the_hidden_site_its_comments_and_the_command_that_helps(data: Path) -> None:
    done = run(data, "check")
    assert '1 comment of the site "blog" cannot be seen' in done.output
    assert "commentsvc site rename blog diary --data DIR" in done.output
    assert done.exit_code == 0
    renamed = run(data, "site", "rename", "blog", "diary")
    assert renamed.output == "blog is called diary now, and has 1 comment\n"
    assert "cannot be seen" not in run(data, "check").output
    assert "diary:/post/" in run(data, "list", "--status=approved").output


@pytest.mark.parametrize(("old", "new"), [("diary", "blog"), ("blog", "notes")])
def test_a_name_that_the_settings_contradict_is_refused(data: Path, old: str, new: str) -> None:
    refused = run(data, "site", "rename", old, new)
    assert refused.exit_code == 1
    assert "The settings have the sites diary" in refused.output


def test_a_name_that_the_database_does_not_have_leads_to_those_it_has(data: Path) -> None:
    mistyped = run(data, "site", "rename", "blgo", "diary")
    assert 'There is no stored site "blgo". Did you mean "blog"?' in mistyped.output
    assert mistyped.exit_code == 1
