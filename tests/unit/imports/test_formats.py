"""Each format that can be imported has its module, its chapter of the manual, and a file here."""

import json
from inspect import signature
from pathlib import Path

import pytest

import commentsvc.imports.formats
from commentsvc.imports import formats
from commentsvc.imports.formats import Format
from commentsvc.imports.records import ImportFailed
from commentsvc.imports.sources.files import SourceFile
from tests.unit.imports import import_samples as samples
from tests.unit.imports.test_detect import SCHNACK, STACOSYS, database

MANUAL = Path(__file__).parents[3] / "docs/migrating.md"
FOLDER = Path(commentsvc.imports.formats.__file__).parent
SQL = ("stacosys", "schnack")
# A name and a text, or the SQL that makes a database.
FILES = {
    "disqus": ("blog.xml", samples.DISQUS),
    "wordpress": ("wordpress.xml", samples.WORDPRESS),
    "isso": ("isso.json", samples.ISSO_JSON),
    "remark42": ("backup", samples.REMARK42),
    "commento": ("blog.json", samples.COMMENTO),
    "stacosys": ("db.sqlite", STACOSYS.format(more="", value="")),
    "artalk": ("artrans.json", samples.ARTALK),
    "waline": ("waline.json", samples.WALINE),
    "valine": ("valine.json", samples.VALINE),
    "twikoo": ("twikoo.json", samples.TWIKOO),
    "cusdis": ("cusdis.json", samples.CUSDIS),
    "giscus": ("giscus.json", samples.GISCUS),
    "github": ("issues.json", samples.GITHUB),
    "blogger": ("blog.xml", samples.BLOGGER),
    "movabletype": ("export.txt", samples.MOVABLETYPE),
    "staticman": (
        "comments/a/entry1367402400.yml",
        samples.STANZA.format(parent="a", date="1367402400"),
    ),
    "schnack": ("comments.db", SCHNACK),
    "commentsvc": (
        "comments.ndjson",
        '{"type":"header","format":"commentsvc","version":1}\n'
        '{"type":"comment","id":1,"site":"blog","url":"/a/","status":"approved",'
        '"created":"2026-11-18T11:06:40.000Z","message":"One","html":"<p>One</p>"}\n'
        '{"type":"end","comments":1}\n',
    ),
}


def test_every_module_is_listed() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    assert sorted(formats.NAMES) == sorted(modules)


@pytest.mark.parametrize("name", formats.NAMES)
def test_a_format_is_recognised_read_and_described(tmp_path: Path, name: str) -> None:
    module = formats.load(name)
    for function in ("recognises", "parse"):
        [_self, *wanted] = signature(getattr(Format, function)).parameters.values()
        found = signature(getattr(module, function)).parameters.values()
        assert [each.annotation for each in found] == [each.annotation for each in wanted]
    assert f"\ncommentsvc import {name} " in MANUAL.read_text(), "its chapter has an example"
    path = written(tmp_path, name)
    assert samples.comments(samples.parsed(path)), f"auto finds {name}"
    assert samples.parsed(path) == samples.parsed(path, name)


@pytest.mark.parametrize("name", formats.NAMES)
def test_a_file_is_refused_by_all_other_formats_with_the_right_name(
    tmp_path: Path, name: str
) -> None:
    path = written(tmp_path, name)
    for other in set(formats.NAMES) - {name}:
        with pytest.raises(ImportFailed, match=f"is of {name}, not of {other}: .*import {name}$"):
            samples.parsed(path, other)


def written(folder: Path, name: str) -> Path:
    """Return the file of a format."""
    file, text = FILES[name]
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    database(path, text) if name in SQL else path.write_text(text)
    return path


def test_several_objects_are_no_comment_of_staticman(tmp_path: Path) -> None:
    one = {"_id": "a", "name": "Ann", "message": "One"}
    for text, is_ours in (
        (json.dumps(one), True),
        (f"{json.dumps(one)}\n{json.dumps(one)}", False),
        (json.dumps({"rows": [one]}), False),
    ):
        path = tmp_path / "a.json"
        path.write_text(text)
        found = formats.load("staticman").recognises(SourceFile(path), text.encode())
        assert bool(found) == is_ours
