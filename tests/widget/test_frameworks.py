"""Our elements in frameworks: attributes are properties, before and after the scripts have run.

These are the cases of custom-elements-everywhere, made again for each attribute of each element,
with the frameworks from npm. `frameworks/` has the modules that mount an element by each of them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.widget.browser import POST, SERVICE, Answers, comment, fill, open_form, send

# Of each framework, its bundle and the function that mounts an element.
FRAMEWORKS: Final = {
    "angular": ("angular", "mount"),
    "lit": ("lit", "mount"),
    "lit by attributes": ("lit", "mountByAttributes"),
    "preact": ("preact", "mount"),
    "react 18": ("react18", "mount"),
    "react 19": ("react19", "mount"),
    "solid": ("solid", "mount"),
    "svelte": ("svelte", "mount"),
    "vue": ("vue", "mount"),
}
HERE: Final = "/small/"
# Of each element, its script and attributes, with two values of each, and what a missing one means.
Values = Mapping[str, tuple[object, object, object]]
ELEMENTS: Final[Mapping[str, tuple[str, Values]]] = {
    "comment-thread": (
        "comments",
        {
            "url": ("/a/", "/b/", HERE),
            "sort": ("newest", "top", "oldest"),
            "depth": (2, 0, 4),
            "load": ("click", "", ""),
            "closed": (True, False, False),
            "lang": ("de", "fr", ""),
        },
    ),
    "comment-count": ("count", {"url": ("/a/", "/b/", HERE), "lang": ("de", "fr", "")}),
    "page-reactions": ("reactions", {"url": ("/a/", "/b/", HERE), "lang": ("de", "fr", "")}),
    "page-views": ("views", {"url": ("/a/", "/b/", HERE), "count": (True, False, False)}),
    "latest-comments": ("latest", {"site": ("one", "two", ""), "limit": (3, 10, 5)}),
    "comment-search": ("search", {"url": ("/a/", "/b/", ""), "site": ("one", "two", "")}),
    "comment-corrections": ("corrections", {"url": ("/a/", "/b/", HERE)}),
    "popular-pages": (
        "popular",
        {
            "site": ("one", "two", ""),
            "limit": (3, 1, 5),
            "period": ("week", "year", "month"),
            "by": ("views", "", ""),
        },
    ),
}
# Mounts all elements, loads their scripts, changes and removes attributes, and mounts them again.
TRY = """async ([mount, elements, service]) => {
  const failures = [];
  const all = Object.entries(elements);
  const until = async (said, test) => {
    for (const end = performance.now() + 5000; performance.now() < end; ) {
      if (test()) return;
      await new Promise(requestAnimationFrame);
    }
    failures.push(said());
  };
  const expectValues = async (when, parent, tag, values) => {
    const element = () => parent.querySelector(tag);
    for (const name in values) {
      const said = () => `${when}: ${name} of ${tag} is ${JSON.stringify(element()?.[name])}`;
      await until(said, () => element()?.[name] === values[name]);
    }
    return element();
  };
  const pick = (values, index) =>
    Object.fromEntries(Object.entries(values).map(([name, each]) => [name, each[index]]));
  const begin = async (tag, values) => {
    const parent = document.createElement("div");
    document.querySelector("main").append(parent);
    return { parent, tag, values, it: await framework[mount](parent, tag, pick(values, 0), {}) };
  };
  const change = async (when, { parent, tag, values, it }, index) => {
    it.update(index == 2 ? { lang: "" } : pick(values, index)); // lang is the browser's
    const element = await expectValues(when, parent, tag, pick(values, index));
    for (const name in index == 2 ? values : {}) {
      const isGone = () => !element.getAttribute(name);
      await until(() => `${when}: ${tag} has ${name}="${element.getAttribute(name)}"`, isGone);
    }
  };
  const mounted = await Promise.all(all.map(([tag, [, values]]) => begin(tag, values)));
  await Promise.all(all.map(([, [script]]) => import(`${service}/static/${script}.js`)));
  for (const each of mounted) {
    const element = await expectValues("before", each.parent, each.tag, pick(each.values, 0));
    for (const [name, [value]] of Object.entries(each.values)) {
      const written = element.getAttribute(name);
      const isRight = value === true ? written != null : written == value;
      if (!isRight) failures.push(`${each.tag} has no attribute ${name} for ${value}`);
    }
    await change("changed", each, 1);
    await change("removed", each, 2);
    await change("set again", each, 0);
    each.it.unmount();
    if (each.parent.querySelector(each.tag)) failures.push(`${each.tag} stays`);
  }
  for (const [tag, [, values]] of all) {
    const each = await begin(tag, values);
    const element = await expectValues("after", each.parent, tag, pick(values, 0));
    const { textContent } = element;
    const asksAtOnce = !["comment-search", "comment-corrections"].includes(tag);
    if (asksAtOnce && textContent != "Fallback") failures.push(`${tag} shows ${textContent}`);
    await change("changed after", each, 1);
    await change("removed after", each, 2);
    each.it.unmount();
  }
  return failures;
}"""


def show(page: Page, frameworks: Path, bundle: str) -> None:
    """Open a page that has only a framework."""
    body = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>'
        '<script src="/framework.js"></script><main><h1>A page</h1></main>'
    )
    page.route("**/framework.js", lambda route: route.fulfill(path=frameworks / f"{bundle}.js"))
    page.route(f"**{HERE}", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto(HERE)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_attribute_is_a_property_in_each_framework(
    page: Page, answers: Answers, frameworks: Path, name: str
) -> None:
    bundle, mount = FRAMEWORKS[name]
    answers.refuse("GET", 503)  # so the fallback stays
    show(page, frameworks, bundle)
    failures = page.evaluate(TRY, [mount, ELEMENTS, SERVICE])
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_thread_lives_in_each_framework(
    page: Page, answers: Answers, frameworks: Path, name: str
) -> None:
    """It is shown, changed, written to, heard, removed and shown again."""
    bundle, mount = FRAMEWORKS[name]
    answers.comments = [comment(1, "One.")]

    def answer(route: Route) -> None:
        if parse_qs(urlsplit(route.request.url).query).get("url") != ["/other/"]:
            route.fallback()
            return
        listed = {"data": [comment(50, "On the other page.")], "count": 1}
        headers = {"Access-Control-Allow-Origin": "*", "Content-Type": "application/json"}
        route.fulfill(body=json.dumps(listed), headers=headers)

    page.route("**/api/comments?*", answer)
    show(page, frameworks, bundle)
    page.evaluate(
        """async ([mount, url, service]) => {
          window.heard = [];
          const listen = ({ type }) => heard.push(type);
          const listeners = { "comments-shown": listen, "comment-submitted": listen };
          window.begin = async () => {
            const parent = document.createElement("div");
            document.querySelector("main").replaceChildren(parent);
            window.it = await framework[mount](parent, "comment-thread", { url }, listeners);
          };
          await begin();
          await import(`${service}/static/comments.js`);
        }""",
        [mount, POST, SERVICE],
    )
    thread = page.locator("comment-thread")
    expect(page.locator("#commentsvc-1")).to_be_visible()
    expect(thread.get_by_text("Fallback")).to_have_count(0)
    fill(open_form(page), "To the first page.")
    page.evaluate("it.update({ url: '/other/' })")
    expect(page.locator("#commentsvc-50")).to_be_visible()
    expect(page.locator("#commentsvc-1")).to_have_count(0)
    page.evaluate(f"it.update({{ url: '{POST}' }})")
    form = page.locator("section > form")
    expect(form.locator("textarea")).to_have_value("To the first page.")
    send(form)
    expect(page.locator("#commentsvc-101")).to_be_focused()
    assert answers.submissions[0]["url"] == POST
    heard = page.evaluate("heard")
    assert "comments-shown" in heard
    assert heard.count("comment-submitted") == 1
    page.evaluate("it.unmount()")
    expect(thread).to_have_count(0)
    page.evaluate("begin()")
    expect(page.locator("#commentsvc-101")).to_be_visible()


@pytest.mark.parametrize("first", ["the script", "React"])
def test_react_takes_over_a_page_from_a_server_without_a_complaint(
    page: Page, answers: Answers, frameworks: Path, first: str
) -> None:
    answers.comments = [comment(1, "One.")]
    warnings: list[str] = []
    page.on(
        "console", lambda logged: warnings.append(logged.text) if logged.type == "error" else None
    )
    show(page, frameworks, "hydration")
    load = f"import('{SERVICE}/static/comments.js')"
    page.evaluate("root = document.createElement('div'), document.body.append(root)")
    page.evaluate(f"framework.serve(root, {{ url: '{POST}', depth: 2 }})")
    expect(page.get_by_text("Fallback")).to_be_visible()
    if first == "the script":
        page.evaluate(load)
        expect(page.locator("#commentsvc-1")).to_be_visible()
    page.evaluate(
        f"""new Promise((done) => {{
          window.errors = framework.takeOver(root, {{ url: '{POST}', depth: 2 }}, done);
        }})"""
    )
    if first == "React":
        page.evaluate(load)
    expect(page.locator("#commentsvc-1")).to_be_visible()
    assert page.evaluate("errors") == []
    assert warnings == []
