"""The parts for other site generators, in static/generators, each in a small blog that it builds.

Eleventy and Astro come from npm, Jekyll from Debian. Astro's blog also exchanges its pages without
loading them (view transitions). The npm package of the widget is tested here, too.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import find_program, visit, watched_tab
from tests.widget.browser import (
    POST,
    ROOT,
    SERVICE,
    WIDGET,
    Answers,
    comment,
    fill,
    open_form,
    send,
    serve,
)

PARTS = WIDGET / "generators"
LIST = '<h1>Posts</h1><script type="module" src="{service}/static/count.js"></script>{posts}'


def eleventy(blog: Path, built: Path, packages: Path) -> None:
    """Build a blog with Eleventy."""
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
    program = packages / "@11ty" / "eleventy" / "cmd.cjs"
    run([find_program("node"), str(program), f"--output={built}"], blog)


def jekyll(blog: Path, built: Path, _packages: Path) -> None:
    """Build a blog with Debian's Jekyll."""
    program = find_program("jekyll")
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


def astro(blog: Path, built: Path, packages: Path) -> None:
    """Build a blog with Astro, whose pages are exchanged without loading them."""
    (blog / "astro.config.mjs").write_text(
        "export default { vite: { build: { assetsInlineLimit: 0 } } };"  # for the policy
    )
    shutil.copytree(PARTS, blog / "src" / "components")
    pages = blog / "src" / "pages"
    post = pages / "posts" / "wet-wood" / "index.astro"
    post.parent.mkdir(parents=True)
    imports = 'import { ClientRouter } from "astro:transitions";\n'
    part = 'import Comments from "../../../components/Comments.astro";\n'
    post.write_text(
        f"---\n{imports}{part}---\n"
        '<html lang="en"><head><title>One</title><ClientRouter /></head><body>'
        f'<a href="/">Posts</a><Comments service="{SERVICE}" /></body></html>'
    )
    script = f'<script is:inline type="module" src="{SERVICE}/static/count.js"></script>'
    count = f'<a href="{POST}">One</a><comment-count url="{POST}"></comment-count>'
    (pages / "index.astro").write_text(
        f"---\n{imports}---\n"
        '<html lang="en"><head><title>Posts</title><ClientRouter /></head><body>'
        f"{script}{count}</body></html>"
    )
    program = packages / "astro" / "bin" / "astro.mjs"
    run([find_program("node"), str(program), "build", "--outDir", str(built)], blog)


def run(words: list[str], folder: Path) -> None:
    """Run a generator in the folder of the blog."""
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "ASTRO_TELEMETRY_DISABLED": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def visit_blog(page: Page, answers: Answers) -> None:
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


def follow_links(page: Page) -> None:
    """Go from the list to the post and back as Astro does it; our styles stay, as the page does."""
    page.goto("/")
    page.evaluate("window.isSame = true")
    for _ in range(2):
        page.get_by_role("link", name="One").click()
        thread = page.locator(".commentsvc-thread")
        expect(thread).to_have_css("position", "relative")
        expect(page.locator("#commentsvc-1")).to_be_visible()
        thread.locator("> .commentsvc-input, > form textarea").focus()
        expect(thread.locator("form")).to_have_css("display", "grid")
        page.get_by_role("link", name="Posts").click()
        expect(page.locator("comment-count")).to_have_text("1 comment")
    assert page.evaluate("window.isSame")


@pytest.mark.parametrize("build", [eleventy, jekyll, astro])
def test_a_blog_built_with_our_part_shows_counts_and_comments(
    chromium: Browser, packages: Path, build: Callable[[Path, Path, Path], None]
) -> None:
    # Beside the packages: Astro does not find its own parts through a link, nor moves its files to
    # another disk.
    blog, built = packages.parent / "blog", packages.parent / "built"
    for folder in (blog, built):
        shutil.rmtree(folder, ignore_errors=True)
    blog.mkdir()
    build(blog, built, packages)
    answers = Answers()
    with (
        serve(built, SERVICE) as server,
        visit(chromium, server.origin) as context,
        watched_tab(context) as page,
    ):
        context.route(f"{SERVICE}/**", answers.answer)
        visit_blog(page, answers)
        if build is astro:
            follow_links(page)


TYPED = """
import "commentsvc/count.js";
import type { Answer } from "commentsvc";
const url: string = document.createElement("comment-thread").url;
const told = ({ detail }: CustomEvent<Answer>) => [url, detail.comment.id.toFixed()];
// @ts-expect-error The types are more than `any`.
document.createElement("comment-count").nothing = told;
"""


def test_the_npm_package_works_bundled_and_as_it_is_and_has_types(
    chromium: Browser, tmp_path: Path, packages: Path
) -> None:
    run(["sh", "config/npm/pack.sh", str(tmp_path)], ROOT)
    [archive] = tmp_path.glob("commentsvc-*.tgz")
    blog, built = tmp_path / "blog", tmp_path / "built"
    blog.mkdir()
    run(
        [find_program("npm"), "install", "--offline", "--no-audit", "--no-fund", str(archive)], blog
    )
    script = (blog / "node_modules" / "commentsvc" / "comments.js").read_text()
    assert script.count('} from "./common.js";') == 1
    assert not re.search(r"^\S.*\bawait ", script, re.MULTILINE), "bundlers may refuse it"
    (blog / "main.ts").write_text(TYPED)
    tsc = ROOT / "build" / "typescript" / "node_modules" / ".bin" / "tsc"
    run(
        [str(tsc), "--strict", "--noEmit", "--module", "esnext", "--target", "es2023", "main.ts"],
        blog,
    )
    (blog / "main.js").write_text('import "commentsvc";\nimport "commentsvc/count.js";\n')
    for name, script in (("index", "main.js"), ("plain", "node_modules/commentsvc/comments.js")):
        (blog / f"{name}.html").write_text(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>'
            f'<link rel="commentsvc" href="{SERVICE}/static/">'
            f'<script type="module" src="/{script}"></script></head><body>'
            f'<comment-count url="{POST}"></comment-count>'
            f'<comment-thread url="{POST}"></comment-thread></body></html>'
        )
    vite = packages / "vite" / "bin" / "vite.js"
    run([find_program("node"), str(vite), "build", "--outDir", str(built)], blog)
    for folder, path in ((built, "/"), (blog, "/plain.html")):
        answers = Answers()
        answers.comments = [comment(1, "The only one.")]
        with (
            serve(folder, SERVICE) as server,
            visit(chromium, server.origin) as context,
            watched_tab(context) as page,
        ):
            context.route(f"{SERVICE}/**", answers.answer)
            page.goto(path)
            expect(page.locator("#commentsvc-1")).to_be_visible()
            expect(page.locator(".commentsvc-thread")).to_have_css("position", "relative")
            expect(page.locator("comment-count")).to_have_text("1 comment")
            form = open_form(page)
            fill(form)
            send(form)
            expect(page.locator("#commentsvc-101")).to_be_focused()
            assert not [target for _, target in answers.requests if target.endswith(".js")]
