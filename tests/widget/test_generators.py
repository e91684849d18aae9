"""The parts for other site generators, in static/generators, each in a small blog that it builds.

Eleventy comes from npm. Jekyll and Astro are tested where they are installed, since they are large:
Debian's jekyll, or `npm install astro` in a folder that the environment variable ASTRO names.
"""

import filecmp
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import find_program, visit, watched_tab
from tests.e2e.program import ROOT
from tests.widget.browser import POST, SERVICE, WIDGET, Answers, comment, serve

PARTS = WIDGET / "generators"
LIST = '<h1>Posts</h1><script type="module" src="{service}/static/count.js"></script>{posts}'


def eleventy(blog: Path, built: Path) -> None:
    """Build a blog with the Eleventy of config/eleventy, which npm installs once."""
    folder, lock = ROOT / "build" / "eleventy", ROOT / "config" / "eleventy"
    installed = folder / "node_modules" / ".package-lock.json"
    if not installed.exists() or not filecmp.cmp(
        lock / "package-lock.json", folder / "package-lock.json", shallow=False
    ):
        shutil.copytree(lock, folder, dirs_exist_ok=True)
        words = [find_program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot get Eleventy: {done.stderr[-300:]}")
    shutil.copytree(PARTS, blog / "_includes")
    (blog / "eleventy.config.js").write_text(
        f'export default (config) => config.addGlobalData("commentsvc", "{SERVICE}");'
    )
    (blog / "posts").mkdir()
    (blog / "posts" / "wet-wood.md").write_text("---\ntags: post\nlayout: post.njk\n---\nA post.")
    (blog / "_includes" / "post.njk").write_text(
        '<html lang="en"><title>One</title>{{ content | safe }}{% include "comments.njk" %}'
    )
    each = (
        "{% for post in collections.post %}"
        '<comment-count url="{{ post.url | url }}"></comment-count>{% endfor %}'
    )
    (blog / "index.njk").write_text(LIST.format(service=SERVICE, posts=each))
    program = folder / "node_modules" / "@11ty" / "eleventy" / "cmd.cjs"
    run([find_program("node"), str(program), f"--output={built}"], blog)


def jekyll(blog: Path, built: Path) -> None:
    """Build a blog with Debian's Jekyll."""
    program = shutil.which("jekyll")
    if program is None:
        pytest.skip("not installed: jekyll")
    shutil.copytree(PARTS, blog / "_includes")
    (blog / "_config.yml").write_text(f"commentsvc: {SERVICE}\npermalink: /posts/:title/\n")
    (blog / "_layouts").mkdir()
    (blog / "_layouts" / "post.html").write_text(
        '<html lang="en"><title>One</title>{{ content }}{% include comments.html %}'
    )
    (blog / "_posts").mkdir()
    (blog / "_posts" / "2026-01-01-wet-wood.md").write_text("---\nlayout: post\n---\nA post.")
    each = (
        "{% for post in site.posts %}"
        '<comment-count url="{{ post.url | relative_url }}"></comment-count>{% endfor %}'
    )
    (blog / "index.html").write_text("---\n---\n" + LIST.format(service=SERVICE, posts=each))
    run([program, "build", "--quiet", "--destination", str(built)], blog)


def astro(blog: Path, built: Path) -> None:
    """Build a blog with the Astro in the folder that the environment names."""
    if "ASTRO" not in os.environ:
        pytest.skip("ASTRO names no folder with Astro")
    (blog / "node_modules").symlink_to(Path(os.environ["ASTRO"]) / "node_modules")
    shutil.copytree(PARTS, blog / "src" / "components")
    pages = blog / "src" / "pages"
    (pages / "posts" / "wet-wood").mkdir(parents=True)
    (pages / "posts" / "wet-wood" / "index.astro").write_text(
        '---\nimport Comments from "../../../components/Comments.astro";\n---\n'
        f'<html lang="en"><title>One</title><body><Comments service="{SERVICE}" /></body></html>'
    )
    script = f'<script is:inline type="module" src="{SERVICE}/static/count.js"></script>'
    count = f'<comment-count url="{POST}"></comment-count>'
    (pages / "index.astro").write_text(f'<html lang="en"><body>{script}{count}</body></html>')
    program = Path(os.environ["ASTRO"]) / "node_modules" / "astro" / "bin" / "astro.mjs"
    run([find_program("node"), str(program), "build", "--outDir", str(built)], blog)


def run(words: list[str], folder: Path) -> None:
    """Run a generator in the folder of the blog."""
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "ASTRO_TELEMETRY_DISABLED": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def look(page: Page, answers: Answers) -> None:
    """Look at the list of a built blog, and at its post."""
    answers.comments = [comment(1, "The only one.")]
    page.goto("/")
    expect(page.locator("comment-count")).to_have_text("1 comment")
    assert page.locator("comment-count").get_attribute("url") == POST
    page.goto(POST)
    expect(page.locator("#commentsvc-1")).to_contain_text("The only one.")
    assert page.locator("comment-thread").get_attribute("url") == POST
    markup = page.request.get(POST).text()
    assert f'{SERVICE}/embed/thread?url=%2Fposts%2Fwet-wood%2F&amp;view=page"' in markup


@pytest.mark.parametrize("build", [eleventy, jekyll, astro])
def test_a_blog_built_with_our_part_shows_counts_and_comments(
    chromium: Browser, tmp_path: Path, build: Callable[[Path, Path], None]
) -> None:
    blog, built = tmp_path / "blog", tmp_path / "built"
    blog.mkdir()
    build(blog, built)
    answers = Answers()
    with (
        serve(built, SERVICE) as server,
        visit(chromium, server.origin) as context,
        watched_tab(context) as page,
    ):
        context.route(f"{SERVICE}/**", answers.answer)
        look(page, answers)
