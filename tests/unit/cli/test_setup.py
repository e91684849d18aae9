"""`init`: the settings and the database of a new service."""

import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from commentsvc.cli.main import main
from commentsvc.settings import loader
from commentsvc.settings.schema import Settings
from tests.unit.database_fixture import add, opened

SHIPPED = Path(__file__).parents[3] / "config/commentsvc.toml"
BLOG, SERVICE = "--blog=https://blog.example", "--url=https://comments.example"
SOMEBODY = 10_001

pytestmark = pytest.mark.sqlite_only("it is about files")


def init(*words: object) -> Result:
    return CliRunner().invoke(main, ["init", *map(str, words)])


def test_init_writes_ten_lines_with_what_the_blog_needs_and_makes_the_database(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    done = init("--data", data, BLOG, SERVICE)
    file = data / "commentsvc.toml"
    assert done.output == (
        f"wrote {file}\ncreated {data}/comments.sqlite3\nNext:\n  commentsvc serve --data {data}\n"
    )
    assert len(file.read_text().splitlines()) <= 10
    settings = loader.load(file, {})
    assert settings.sites[0].origins == ("https://blog.example",)
    assert settings.server.public_url == "https://comments.example"
    assert file.stat().st_mode & 0o777 == 0o600, "passwords may be written into it"


def test_init_without_a_folder_makes_one_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert init(BLOG, SERVICE).output.endswith("  commentsvc serve --data comments\n")
    assert (tmp_path / "comments/comments.sqlite3").exists()


def test_all_settings_are_those_of_the_shipped_file_with_what_is_given(tmp_path: Path) -> None:
    file = tmp_path / "commentsvc.toml"
    assert init("--data", tmp_path, "--all").exit_code == 0
    assert file.read_bytes() == SHIPPED.read_bytes()
    file.unlink()
    assert init("--data", tmp_path, "--all", BLOG, SERVICE).exit_code == 0
    assert loader.load(file, {}).sites[0].origins == ("https://blog.example",)
    assert loader.load(file, {}).server.public_url == "https://comments.example"
    assert len(file.read_text().splitlines()) == len(SHIPPED.read_text().splitlines())


def test_init_never_overwrites(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        add(database)
    before = (tmp_path / "comments.sqlite3").read_bytes()
    assert "created" not in init("--data", tmp_path, BLOG).output
    file = tmp_path / "commentsvc.toml"
    file.write_text("# mine")
    again = init("--data", tmp_path, BLOG)
    assert again.exit_code == 1
    assert again.stderr == f"commentsvc: {file} already exists; not overwritten.\n"
    assert file.read_text() == "# mine"
    assert (tmp_path / "comments.sqlite3").read_bytes() == before


def test_init_writes_where_it_is_told_and_says_how_that_is_served(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    done = init("--data", tmp_path, "--config", file)
    assert loader.load(file, {}) == Settings()
    lines = done.output.splitlines()
    assert lines[-3] == (
        f'  write origins = ["https://blog.example"] into {file}, with your address'
    )
    assert lines[-1] == f"  commentsvc serve --data {tmp_path} --config {file}"


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://Bücher.example/blog/?x", "https://xn--bcher-kva.example"),
        ("HTTP://blog.example:80", "http://blog.example"),
        ("http://[::1]:1313/", "http://[::1]:1313"),
    ],
)
def test_the_origin_of_the_blog_is_taken_from_its_address(
    tmp_path: Path, given: str, origin: str
) -> None:
    assert init("--data", tmp_path, "--blog", given).exit_code == 0
    assert loader.load(tmp_path / "commentsvc.toml", {}).sites[0].origins == (origin,)


@pytest.mark.parametrize("option", ["--blog", "--url"])
@pytest.mark.parametrize(
    "given", ["blog.example", "ftp://blog.example", "https://", "https://a b/", "https://a:99999"]
)
def test_what_is_no_address_is_refused_before_anything_is_written(
    tmp_path: Path, option: str, given: str
) -> None:
    data = tmp_path / "data"
    done = init("--data", data, option, given)
    assert done.exit_code == 1
    assert done.stderr.startswith(f'commentsvc: {option} "{given}" is no web address. Copy it')
    assert not data.exists()


@pytest.mark.parametrize("url", ["https://Blog.example/", "https://blog.example:443"])
def test_the_service_has_another_address_than_the_blog(tmp_path: Path, url: str) -> None:
    data = tmp_path / "data"
    done = init("--data", data, "--blog", "https://blog.example/posts", "--url", url)
    assert done.exit_code == 1
    assert done.stderr == (
        f"commentsvc: --url {url} is the address of the blog. The service needs a name of its own,"
        " such as https://comments.example, or a path below the blog's, such as"
        " https://blog.example/comments.\n"
    )
    assert not data.exists()
    assert init("--data", data, "--blog", url, "--url", f"{url}/comments").exit_code == 0


def test_what_root_makes_belongs_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make files for somebody else")
    os.chown(tmp_path, SOMEBODY, SOMEBODY)
    assert init("--data", tmp_path, BLOG).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"comments.sqlite3", "secret.key"}
    assert {path.stat().st_uid for path in tmp_path.iterdir()} == {SOMEBODY}


def test_the_version_is_that_of_the_commit() -> None:
    script = ["sh", str(SHIPPED.with_name("version.sh"))]
    commit = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert CliRunner().invoke(main, ["--version"]).output == f"commentsvc, version {commit}"
