"""The recipes of docs/generators.md, each built by its own program: `make generators`.

Without GENERATORS=all, only what is installed for other tests is built here; Hugo, Jekyll, Eleventy
and Astro have tests of their own.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import node_modules
from tests.widget.browser import ROOT

MANUAL: Final = (ROOT / "docs/generators.md").read_text()
SERVICE: Final = "https://comments.example"
# `make generators` installs what is not installed for other tests.
FOLDER: Final = ROOT / "build" / "more_generators"
PROGRAMS: Final = FOLDER / "python" / "bin"
FILE: Final = re.compile(
    r"^[^\n`]*`([^`\n]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
POST: Final = "# Wet wood\n\nA post.\n"
ALL: Final = os.environ.get("GENERATORS") == "all"


@dataclass(frozen=True)
class Recipe:
    """A generator: what else its blog has, how it is built, and where the page of the post is."""

    name: str
    files: dict[str, str]
    command: list[str]
    page: str
    url: str = "/posts/wet-wood/"
    before: list[str] = field(default_factory=list)


def node(path: str, *words: str) -> list[str]:
    """Return the command that runs a program of the packages from npm."""
    return ["node", str(FOLDER / "node_modules" / path), *words]


RECIPES: Final = [
    Recipe(
        "MkDocs",
        {
            "mkdocs.yml": "site_name: A blog\n",
            "docs/index.md": "# A",
            "docs/posts/wet-wood.md": POST,
        },
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"],
        "site/posts/wet-wood/index.html",
    ),
    Recipe(
        "Sphinx",
        {
            "conf.py": 'project = "A blog"\n',
            "index.rst": "A blog\n======\n\n.. toctree::\n\n   posts/wet-wood\n",
            "posts/wet-wood.rst": "Wet wood\n========\n\nA post.\n",
        },
        [str(PROGRAMS / "sphinx-build"), "-W", "-q", ".", "built"],
        "built/posts/wet-wood.html",
        "/posts/wet-wood.html",
    ),
    Recipe(
        "Pelican",
        {
            "pelicanconf.py": 'SITENAME = "A blog"\nTIMEZONE = "UTC"\n'
            'ARTICLE_URL = "posts/{slug}/"\n'
            'ARTICLE_SAVE_AS = "posts/{slug}/index.html"\n',
            "content/wet-wood.md": "Title: Wet wood\nDate: 2026-01-01\n\nA post.\n",
        },
        [str(PROGRAMS / "pelican"), "--fatal", "errors", "-q"],
        "output/posts/wet-wood/index.html",
    ),
    Recipe(
        "Nikola",
        {
            "posts/wet-wood.rst": ".. title: Wet wood\n.. slug: wet-wood\n"
            ".. date: 2026-01-01\n\nA post.\n"
        },
        [str(PROGRAMS / "nikola"), "build", "--quiet"],
        "output/posts/wet-wood/index.html",
        before=[str(PROGRAMS / "nikola"), "init", "--quiet", "."],
    ),
    Recipe(
        "VitePress",
        {"posts/wet-wood/index.md": POST},
        node("vitepress/bin/vitepress.js", "build", "."),
        ".vitepress/dist/posts/wet-wood/index.html",
    ),
]


def recipe_files(name: str) -> dict[str, str]:
    """Return the files that the manual's recipe has."""
    section = MANUAL.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    return dict(FILE.findall(section))


def run(words: list[str], folder: Path) -> None:
    """Run a generator in the folder of the blog."""
    done = subprocess.run(
        words,
        cwd=folder,
        env={
            **os.environ,
            "NO_MKDOCS_2_WARNING": "1",
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_recipe_of_the_manual_is_built() -> None:
    assert re.findall(r"^## (.*)$", MANUAL, re.MULTILINE) == [recipe.name for recipe in RECIPES]


@pytest.mark.parametrize("recipe", RECIPES if ALL else RECIPES[:1], ids=lambda recipe: recipe.name)
def test_a_blog_built_by_the_recipe_has_a_thread_with_the_address_of_the_page(
    recipe: Recipe, tmp_path: Path
) -> None:
    blog = tmp_path
    if recipe.command[0] == "node":  # beside the packages: some do not follow a link to them
        node_modules("more_generators")
        blog = FOLDER / "blog"
        shutil.rmtree(blog, ignore_errors=True)
        blog.mkdir()
        (blog / "package.json").write_text('{"type": "module", "private": true}')
    if recipe.before:
        run(recipe.before, blog)
    files = recipe_files(recipe.name)
    assert files, "the manual has a recipe"
    for name in {**recipe.files, **files}:
        path = blog / name
        path.parent.mkdir(parents=True, exist_ok=True)
        had = path.read_text() if path.exists() else ""
        path.write_text(had + recipe.files.get(name, "") + files.get(name, ""))
    run(recipe.command, blog)
    page = (blog / recipe.page).read_text()
    assert re.search(rf'<comment-thread[^>]* url="{re.escape(recipe.url)}"', page), page[-3000:]
    assert page.count("<comment-thread") == 1
    assert re.search(rf'<script[^>]* src="{SERVICE}/static/comments.js"', page)
