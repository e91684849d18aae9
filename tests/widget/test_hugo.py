"""The Hugo module in static/hugo, in small generated blogs, with every installed Hugo.

Newer versions differ much from Debian's of 2023, which is the oldest that the module supports.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import feedparser
import pytest

from commentsvc.blog import translations
from commentsvc.cli import alias_import
from commentsvc.cli.alias_import import AliasedPage
from commentsvc.exports import hugo as exports_hugo
from commentsvc.imports.sources import blog_pages
from commentsvc.mentions import page_posts
from commentsvc.model import DELETED
from commentsvc.moderation import threads
from commentsvc.util.i18n import OTHER_TAGS, find_language
from commentsvc.util.text import hue, initial
from commentsvc.util.timestamps import rfc3339
from loadtest.harness.running import free_ports
from loadtest.workloads.page_view import HINTS
from tests.conftest import cannot_run, find_program
from tests.e2e.program import serving
from tests.unit.database_fixture import HOUR, NOW, add, decide, opened
from tests.unit.json_ld import described, every_comment
from tests.widget.browser import WIDGET

HOST = "https://comments.example.org"
PAGE = '{{ .Content }}{{ partial "comments.html" . }}'
LIST = '{{ range site.RegularPages }}{{ partial "comment-count.html" . }}{{ end }}'
THEME = f'themesDir = "{WIDGET}"\ntheme = ["hugo"]\n'
MODULE = f"""
[module]
replacements = "commentsvc.example/hugo -> {WIDGET / "hugo"}"
[[module.imports]]
path = "commentsvc.example/hugo"
"""
HERE = "https://blog.example/notes/posts/one/"
SETTINGS = """
baseURL = "https://blog.example/notes/"
disableKinds = ["taxonomy", "term", "RSS", "sitemap"]
outputs.home = ["html", "commentsvc"]
"""


def installed() -> list[str]:
    """Return every Hugo on the PATH, by its version; the oldest is last."""
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    found = {}
    for path in (folder / "hugo" for folder in folders):
        if os.access(path, os.X_OK):
            built = subprocess.run([path, "version"], capture_output=True, text=True, check=True)
            found[re.findall(r"^hugo v(\d+)\.(\d+)", built.stdout, re.MULTILINE)[0]] = str(path)
    return [found[version] for version in sorted(found, key=lambda v: [*map(int, v)], reverse=True)]


@pytest.fixture(scope="module", params=["ours", "Debian's"])
def hugo(request: pytest.FixtureRequest) -> str:
    """Return a Hugo: that of the tests, or an older one."""
    find_program("hugo")
    programs = installed()
    if request.param == "ours":
        return programs[0]
    if len(programs) == 1:
        cannot_run("there is one version of Hugo on the PATH, and no older one (Debian: hugo)")
    return programs[-1]


class Site:
    """A small blog in a folder."""

    def __init__(self, folder: Path, hugo: str) -> None:
        self.folder = folder
        self.hugo = hugo
        self.output = ""
        self.write("layouts/_default/single.html", PAGE)
        self.write("layouts/_default/list.html", LIST)
        self.write("layouts/index.html", LIST)

    def write(self, name: str, text: str) -> None:
        """Write a file of the blog."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def post(self, name: str, matter: str = "", text: str = "Text") -> None:
        """Write a post, with a line of front matter."""
        self.write(f"content/posts/{name}.md", f"---\ntitle: {name}\n{matter}\n---\n{text}\n")

    def build(self, host: str = HOST, wiring: str = THEME, more: str = "") -> dict[str, str]:
        """Build the blog; return the text of each file."""
        ours = f'\n[params.commentsvc]\nhost = "{host}"\n{more}'
        head, _, tables = wiring.partition("\n[")
        self.write("hugo.toml", head + SETTINGS + (f"\n[{tables}" if tables else "") + ours)
        return self.built()

    def built(self) -> dict[str, str]:
        """Build the blog as it is; return the text of each file."""
        environ = {
            **os.environ,
            "HUGO_CACHEDIR": str(self.folder / "cache"),
            "HUGO_SECURITY_HTTP_URLS": ".*",  # else newer ones refuse local addresses
        }
        done = subprocess.run(
            [self.hugo, "--destination", "out", "--noBuildLock"],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.output = done.stdout + done.stderr
        assert done.returncode == 0, self.output
        out = self.folder / "out"
        files = [path for path in out.rglob("*") if path.is_file()]
        return {str(path.relative_to(out)): path.read_text() for path in files}


@pytest.fixture
def site(tmp_path: Path, hugo: str) -> Site:
    """Return an empty blog."""
    return Site(tmp_path, hugo)


@pytest.mark.parametrize("method", ["theme", "module"])
def test_the_readme_can_be_followed_to_the_letter(tmp_path: Path, hugo: str, method: str) -> None:
    text = (WIDGET.parent / "docs/hugo.md").read_text()
    theme, module, outputs = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    site = Site(tmp_path / "blog", hugo)
    site.post("one", "aliases: [/first/]")
    if method == "theme":
        target, settings = tmp_path / "blog/themes/commentsvc", theme
        site.write("themes/PaperMod/layouts/partials/comments.html", "")
    else:
        target, settings = (
            tmp_path / "commentsvc/static/hugo",
            theme[theme.index("[params") :] + module,
        )
    shutil.copytree(WIDGET / "hugo", target)
    site.write("hugo.toml", f"{settings}\n{outputs}")
    files = site.built()
    assert files["posts/one/index.html"].count("<comment-thread ") == 1
    assert "<comment-count " in files["index.html"]
    assert json.loads(files["commentsvc.json"])["pages"][0]["aliases"] == ["/first/"]


@pytest.mark.parametrize("wiring", [THEME, MODULE], ids=["theme", "module"])
def test_a_page_gets_its_thread_and_a_list_its_counts(site: Site, wiring: str) -> None:
    site.post("one", text='See {{< comment-count "posts/two" >}}.')
    site.post("two")
    files = site.build(f"{HOST}/", wiring)
    for name in ("one", "two"):
        thread = files[f"posts/{name}/index.html"]
        assert f'<script type="module" src="{HOST}/static/comments.js"></script>' in thread
        assert f'<comment-thread id="comments" url="/notes/posts/{name}/">' in thread
        address = f"{HOST}/embed/thread?url=%2Fnotes%2Fposts%2F{name}%2F&amp;view=page"
        assert (
            f'<noscript><a hreflang="en" href="{address}">Read and write comments</a></noscript>'
            in thread
        )
        hints = HINTS.format(HOST).replace("%2Fpost%2F", f"%2Fnotes%2Fposts%2F{name}%2F")
        assert hints.replace("&", "&amp;") in thread.replace("\n", "")
    count = '<comment-count url="/notes/posts/two/"><a href="/notes/posts/two/#comments">'
    assert count in files["posts/one/index.html"]
    assert files["index.html"].count("<comment-count ") == 2
    assert "WARN" not in site.output


def test_comments_that_nobody_sees_yet_are_not_requested_by_a_hint(site: Site) -> None:
    site.post("short")
    site.post("long", text="Word " * 201)
    files = site.build()
    assert files["posts/short/index.html"].count("preload") == 4
    assert files["posts/long/index.html"].count("preload") == 2
    click = site.build(more='load = "click"\n')
    assert click["posts/short/index.html"].count("preload") == 2


def test_a_page_that_wants_no_comments_has_none(site: Site) -> None:
    wishes = {"comments": False, "showComments": False, "disableComments": True, "nocomment": True}
    for number, (name, value) in enumerate(wishes.items()):
        site.post(f"quiet{number}", f"{name}: {json.dumps(value)}")
        site.post(f"lively{number}", f"{name}: {json.dumps(not value)}")
    files = site.build()
    for number, name in enumerate(wishes):
        assert "comment" not in files[f"posts/quiet{number}/index.html"], name
        assert "<comment-thread" in files[f"posts/lively{number}/index.html"], name
    assert files["index.html"].count("<comment-count ") == len(wishes)


def test_a_site_may_want_none_but_where_a_page_says_so(site: Site) -> None:
    site.post("quiet")
    site.post("lively", "showComments: true")
    files = site.build(more="[params]\nshowComments = false\n")
    assert "comment" not in files["posts/quiet/index.html"]
    assert "<comment-thread" in files["posts/lively/index.html"]


def test_a_closed_page_takes_no_comments(site: Site) -> None:
    site.post("old", "commentsClosed: true")
    page = site.build()["posts/old/index.html"]
    assert re.search(r"<comment-thread [^>]* closed>", page)
    assert f"{HOST}/embed/thread?closed=yes&amp;url=" in page


def test_settings_become_attributes(site: Site) -> None:
    site.post("one")
    page = site.build(more='sort = "newest"\nload = "click"\ndepth = 0\n')["posts/one/index.html"]
    assert re.search(r'<comment-thread [^>]*/" sort="newest" load="click" depth="0">', page)


def test_a_page_names_posts_for_the_service(site: Site) -> None:
    post = "https://mastodon.example/@ann/1"
    site.post("one", f"socialPosts: [{post}, {post}2]\ndate: 2026-01-02")
    site.post("two", f"socialPosts: {post}")
    site.post("none")
    site.build()
    settings = site.folder / "hugo.toml"
    settings.write_text(settings.read_text().replace(', "sitemap"]', "]"))
    files = site.built()
    named = {
        name: page_posts.named_posts(files[f"posts/{name}/index.html"])
        for name in ("one", "two", "none")
    }
    one, two = "/notes/posts/one/", "/notes/posts/two/"
    assert named == {
        "one": [(one, post), (one, f"{post}2")],
        "two": [(two, post)],
        "none": [],
    }
    listed = blog_pages.parse(files["sitemap.xml"].encode(), "sitemap.xml")
    changed = {each.url: rfc3339(each.changed_at) for each in listed}
    assert changed[f"https://blog.example{one}"] == "2026-01-02T00:00:00Z"


def test_a_page_names_its_translations_for_the_service(site: Site) -> None:
    site.write("content/posts/one.en.md", "---\ntitle: One\n---\nText\n")
    site.write("content/posts/one.de.md", "---\ntitle: Eins\nslug: eins\n---\nText\n")
    site.write("content/posts/two.en.md", "---\ntitle: Two\n---\nText\n")
    both = "\n[languages.en]\nweight = 1\n[languages.de]\nweight = 2\n"
    files = site.build(more=both)
    pair = [("en", "/notes/posts/one/"), ("de", "/notes/de/posts/eins/")]
    names = ("posts/one/index.html", "de/posts/eins/index.html", "posts/two/index.html")
    assert [translations.named(files[name])[1:] for name in names] == [pair, pair, []]


def test_reactions_and_lists_have_partials(site: Site) -> None:
    site.post("one")
    site.write(
        "layouts/index.html",
        '{{ range site.RegularPages }}{{ partial "page-reactions.html" . }}{{ end }}'
        '{{ partial "latest-comments.html" (dict "limit" 3) }}{{ partial "popular-pages.html" . }}'
        '{{ partial "popular-pages.html" (dict "period" "week" "limit" 3) }}'
        '{{ partial "popular-pages.html" (dict "by" "views") }}'
        '{{ partial "comment-search.html" . }}'
        '{{ partial "comment-search.html" (dict "url" "/a/") }}'
        '{{ range site.RegularPages }}{{ partial "page-views.html" . }}{{ end }}',
    )
    site.write("layouts/posts/single.html", '{{ partial "page-views.html" . }}')
    files = site.build()
    page = files["index.html"]
    for name in ("reactions", "latest", "popular", "views", "search"):
        assert f'<script type="module" src="{HOST}/static/{name}.js"></script>' in page
    assert '<page-reactions url="/notes/posts/one/"></page-reactions>' in page
    assert '<latest-comments limit="3"></latest-comments>' in page
    assert "<popular-pages></popular-pages>" in page
    assert "<comment-search></comment-search>" in page
    assert '<comment-search url="/a/"></comment-search>' in page
    assert '<popular-pages period="week" limit="3"></popular-pages>' in page
    assert '<popular-pages by="views"></popular-pages>' in page
    views = '<page-views url="/notes/posts/one/"{}></page-views>'
    assert views.format("") in page
    assert views.format(" count") in files["posts/one/index.html"]
    page = site.build(more='site = "notes"\n')["index.html"]
    assert '<latest-comments limit="3" site="notes"></latest-comments>' in page


def test_pages_with_comments_have_a_button_for_corrections(site: Site) -> None:
    site.post("one")
    site.post("two", "comments: false")
    site.write(
        "layouts/posts/single.html",
        '<article>{{ .Content }}{{ partial "comment-corrections.html" . }}</article>',
    )
    files = site.build()
    page = files["posts/one/index.html"]
    element = '<comment-corrections url="/notes/posts/one/"></comment-corrections></article>'
    script = f'<script type="module" src="{HOST}/static/corrections.js"></script>'
    assert f"{script}\n{element}" in page
    assert "corrections" not in files["posts/two/index.html"]
    whole = site.build(more="absolute = true\n")["posts/one/index.html"]
    assert '<comment-corrections url="https://blog.example/notes/posts/one/">' in whole


def test_old_addresses_and_closed_pages_are_told(site: Site) -> None:
    site.post("one", "aliases: [/2017/one/, ../first, gone.html]")
    site.post("old", "commentsClosed: true")
    site.post("two")
    built = site.build()["commentsvc.json"]
    old = ("/notes/2017/one/", "/notes/first/", "/notes/posts/gone.html")
    pages = {page.url: page for page in alias_import.read(built.encode())}
    assert pages == {
        "/notes/posts/one/": AliasedPage("/notes/posts/one/", old),
        "/notes/posts/old/": AliasedPage("/notes/posts/old/", closed=True),
    }
    for path in ("2017/one/index.html", "first/index.html", "posts/gone.html"):
        assert (site.folder / "out" / path).exists(), path


def test_the_words_are_in_the_language_of_the_blog(site: Site) -> None:
    site.post("one")
    files = site.build(wiring='defaultContentLanguage = "fr"\n' + THEME)
    link = f'<a hreflang="fr" href="{HOST}/embed/thread?lang=fr&amp;url='
    assert link in files["posts/one/index.html"]
    assert "Lire et écrire des commentaires" in files["posts/one/index.html"]
    assert ">Commentaires</a>" in files["index.html"]


def test_a_post_and_an_entry_of_a_feed_lead_to_writing_a_comment_as_a_mail(site: Site) -> None:
    site.post("one")
    site.post("silent", "comments: false")
    partial = '{{ partial "comment-by-mail.html" . }}'
    site.write("layouts/_default/single.html", partial)
    address = f"{HOST}/mail/write?lang=fr&amp;site=blog&amp;url=%2Fnotes%2Fposts%2Fone%2F"
    wiring = 'defaultContentLanguage = "fr"\n' + THEME
    files = site.build(wiring=wiring, more='site = "blog"\n')
    assert f'href="{address}">Écrivez votre commentaire' in files["posts/one/index.html"]
    assert "mail/write" not in files.get("posts/silent/index.html", "")  # Hugo writes no empty page
    described = f"<description>{partial[:-3]} | html }}}}</description>"
    template = RSS_FEED.replace('{{ partial "comments-feed.html" . }}', described)
    entries = {each.title: each for each in feed(site, template).entries}
    assert "/mail/write?lang=en&amp;url=%2Fnotes%2Fposts%2Fone%2F" in entries["one"].summary


@pytest.mark.parametrize("lang", ["bn", "fa", "hi", "nn"])
def test_a_count_has_the_digits_of_the_language(site: Site, lang: str) -> None:
    site.write("layouts/_default/single.html", '{{ partial "commentsvc/counted.html" 1905 }}')
    site.post("one")
    page = site.build(wiring=f'defaultContentLanguage = "{lang}"\n' + THEME)["posts/one/index.html"]
    assert page == find_language(lang).count(1905)


@pytest.mark.parametrize(
    ("lang", "spoken"),
    [
        ("sw", "en"),
        ("pt-br", "pt"),
        ("deu", "en"),
        ("zh-tw", "zh-Hant"),
        ("no", "nb"),
        *OTHER_TAGS.items(),
    ],
)
def test_a_link_tells_the_language_of_the_page_behind_it(
    site: Site, lang: str, spoken: str
) -> None:
    site.post("one")
    page = site.build(wiring=f'defaultContentLanguage = "{lang}"\n' + THEME)["posts/one/index.html"]
    assert f'<noscript><a hreflang="{spoken}"' in page
    assert re.findall(r"\?lang=([^&]*)&", page) == ([] if spoken == "en" else [spoken])


SLOTS: Mapping[str, tuple[str, str]] = {
    "PaperMod": ('{{ if .Param "comments" }}{{ partial "comments.html" . }}{{ end }}',
                 "[params]\ncomments = true\n"),
    "Congo and Blowfish": (
        '{{ if .Params.showComments | default site.Params.article.showComments }}'
        '{{ if templates.Exists "partials/comments.html" }}{{ partial "comments.html" . }}'
        "{{ end }}{{ end }}", "[params.article]\nshowComments = true\n"),
    "Stack": (
        '{{ if not (eq .Params.comments false) }}{{ with site.Params.comments }}{{ if .enabled }}'
        '{{ partial (printf "comments/provider/%s" .provider) $ }}{{ end }}{{ end }}{{ end }}',
        '[params.comments]\nenabled = true\nprovider = "commentsvc"\n'),
}  # fmt: skip


@pytest.mark.parametrize("theme", SLOTS)
def test_it_fits_the_slot_of_a_theme(site: Site, theme: str) -> None:
    """Each is used as the theme's own template does; README.md says which were tried completely."""
    layout, settings = SLOTS[theme]
    site.write("layouts/_default/single.html", layout)
    site.post("one")
    files = site.build(more=settings)
    assert files["posts/one/index.html"].count("<comment-thread ") == 1


def test_a_build_has_the_comments_that_are_there(site: Site, tmp_path: Path) -> None:
    listen = f"127.0.0.1:{free_ports()[0]}"
    settings = {
        "COMMENTSVC_MODERATION_POLICY": "none",
        "COMMENTSVC_SPAM_RATE_LIMIT": "off",
        "COMMENTSVC_SERVER_PUBLIC_URL": f"http://{listen}",
    }
    site.post("one")
    site.post("old", "commentsClosed: true")
    with serving(tmp_path / "data", settings, listen) as service:
        text = 'Built *in*, `<a href="#x">`, [up](#up)'
        service.submit("/notes/posts/one/", text, author="Rosa & <b>Weber</b>")
        files = site.build(service.address, more="build = true\n")
        wiring = 'defaultContentLanguage = "de"\n' + THEME
        german = site.build(service.address, wiring, more="build = true\n")
    assert re.search(
        r'(?s)<section class="commentsvc-thread" lang="de" dir="ltr".*>1 Kommentar<.*\?lang=de"',
        german["posts/one/index.html"],
    )
    page = files["posts/one/index.html"]
    element = re.findall(r"(?s)<comment-thread .*?</comment-thread>", page)[0]
    assert '<p>Built <em>in</em>, <code>&lt;a href="#x"&gt;</code>, ' in element
    assert f'<a href="{HERE}#up"' in element, "with any <base href>"
    assert f'<a class="commentsvc-date" href="{HERE}#commentsvc-1">' in element
    assert "Rosa &amp; &lt;b&gt;Weber&lt;/b&gt;" in element
    assert f'action="{service.address}/embed/thread"' in element
    for name in ("form.css", "comments.css"):
        assert f'<link rel="stylesheet" href="{service.address}/static/{name}">' in element
    assert "<noscript><a" not in element
    about = described(page)
    assert about["url"].endswith("/notes/posts/one/")
    assert about["comment"][0]["author"]["name"] == "Rosa & <b>Weber</b>"
    assert "no longer accepts comments" in files["posts/old/index.html"]
    assert "<form" not in files["posts/old/index.html"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data files of a blog.

    One page has a thread of five comments, the fourth of which was deleted; another has its
    comments under an old address, a third one without a slash at its end, and the last has no
    visible comment.
    """
    folder = tmp_path_factory.mktemp("exported")
    with opened(folder) as database:
        one = "/notes/posts/one/"
        add(database, url=one, author="Rosa & <b>Weber</b>", author_site="https://rosa.example")
        add(database, url=one, parent=1, html="<p>See <a href='#x'>this</a></p>", author="🇩🇪 Bo")
        add(database, url=one, parent=2, now=NOW + HOUR, author="", html="<p>Third</p>")
        add(database, url=one, parent=1, now=NOW + 2 * HOUR)
        add(database, url=one, parent=4, now=NOW + 3 * HOUR)
        decide(database, DELETED, 4)
        add(database, url="/2017/moved/")
        database.write_now(threads.add_alias, "blog", "/2017/moved/", "/notes/posts/moved/")
        add(database, url="/notes/posts/bare", reader_id=7)
        add(database, url="/notes/posts/quiet/", status="pending")
        database.read_now(exports_hugo.write, "", folder / "files")
    return folder / "files"


def test_data_files_become_comments_without_a_service(site: Site, exported: Path) -> None:
    shutil.copytree(exported, site.folder / "data/talk")
    for name in ("one", "moved", "bare", "quiet"):
        site.post(name)
    files = site.build("http://127.0.0.1:1", more='data = "talk"\n')
    assert "WARN" not in site.output
    page = files["posts/one/index.html"]
    element = re.findall(r"(?s)<comment-thread .*?</comment-thread>", page)[0]
    assert '<h2 class="commentsvc-heading">4 comments</h2>' in element
    order = re.findall(r'(<ol|</ol|id="commentsvc-\d+)', element)
    assert "".join(order).replace('id="commentsvc-', "") == "<ol1<ol2<ol3</ol4<ol5</ol</ol</ol"
    assert element.count("This comment was deleted.") == 1
    avatars = re.findall(
        r'commentsvc-avatar (commentsvc-hue\d+)" aria-hidden="true">(.*)</span>', element
    )
    authors = ["Rosa & <b>Weber</b>", "🇩🇪 Bo", "", "Ann"]
    assert avatars == [(f"commentsvc-hue{hue(name)}", initial(name)) for name in authors]
    assert "Rosa &amp; &lt;b&gt;Weber&lt;/b&gt;" in element
    assert 'href="https://rosa.example" rel="nofollow ugc noopener"' in element
    assert "<p>See <a href='#x'>this</a></p>" in element
    assert element.count(f'<a class="commentsvc-date" href="{HERE}#commentsvc-') == 4
    assert '<time datetime="2026-11-18T11:06:40Z">Nov 18, 2026</time>' in element
    assert "<form" not in element
    assert "<noscript><a" in element
    for name, count in (("one", "4 comments"), ("moved", "1 comment"), ("bare", "1 comment")):
        assert f'<a href="/notes/posts/{name}/#comments">{count}</a>' in files["index.html"]
        assert 'id="commentsvc-' in files[f"posts/{name}/index.html"]
    assert '<span class="commentsvc-badge">Verified</span>' in files["posts/bare/index.html"]
    assert "commentsvc-badge" not in files["posts/moved/index.html"]
    assert '<a href="/notes/posts/quiet/#comments">Comments</a>' in files["index.html"]
    assert "<section" not in files["posts/quiet/index.html"]


def test_data_files_tell_search_engines_what_a_service_tells(
    site: Site, exported: Path, tmp_path: Path
) -> None:
    """But how often comments were liked, which the files do not say."""
    hostile = '</script><!-- \u2028 <b> & "'
    escaped = "<p>&lt;/script&gt;&lt;!-- \u2028 &lt;b&gt; &amp; &quot;</p>"
    with opened(tmp_path) as database:
        url = "/notes/posts/one/"
        add(database, url=url, author=hostile, html=escaped)
        add(
            database,
            url=url,
            parent=1,
            author="Bo",
            html='<p><img src="https://c.example/a" /></p>',
        )
        add(database, url=url, parent=2, author="", html="<p>Nameless</p>")
        add(database, url=url, parent=3, author="Cy", html="<p>In\n*two* lines</p>")
        database.read_now(exports_hugo.write, "", site.folder / "data/talk")
    site.post("one")
    page = site.build(more='data = "talk"\n')["posts/one/index.html"]
    about = described(page)
    assert (about["url"], about["headline"], about["commentCount"]) == (HERE, "one", 4)
    first, picture, last = every_comment(about)
    assert first["author"]["name"] == hostile
    assert first["text"] == '</script><!-- <b> & "'
    assert first["url"] == f"{HERE}#commentsvc-1"
    assert picture["image"] == "https://c.example/a"
    assert (last["text"], picture["comment"]) == ("In *two* lines", [last])
    shutil.rmtree(site.folder / "data")
    shutil.copytree(exported, site.folder / "data/talk")
    page = site.build(more='data = "talk"\n')["posts/one/index.html"]
    names = [each["author"]["name"] for each in every_comment(described(page))]
    assert "Rosa & <b>Weber</b>" in names


def test_data_files_of_earlier_versions_are_found_and_those_of_other_pages_are_not(
    site: Site, exported: Path
) -> None:
    talk = site.folder / "data/talk"
    shutil.copytree(exported, talk)
    for name in ("one", "moved", "bare", "next"):
        site.post(name)
    for url in ("/notes/posts/one/", "/2017/moved/", "/notes/posts/bare"):
        current, former = (talk / exports_hugo.file_name(url, digits) for digits in (32, 8))
        current.rename(former)
    wrong = exports_hugo.file_name("/notes/posts/next/", 8)  # as if 32 bits were the same
    shutil.copy(former, talk / wrong)
    files = site.build("http://127.0.0.1:1", more='data = "talk"\n')
    for name, count in (("one", "4 comments"), ("moved", "1 comment"), ("bare", "1 comment")):
        assert f'<a href="/notes/posts/{name}/#comments">{count}</a>' in files["index.html"]
    assert '<a href="/notes/posts/next/#comments">Comments</a>' in files["index.html"]


def test_counts_of_data_files_are_in_the_language_of_the_blog(site: Site, exported: Path) -> None:
    shutil.copytree(exported, site.folder / "data/talk")
    site.post("one")
    wiring = 'defaultContentLanguage = "pl"\n' + THEME
    page = site.build(wiring=wiring, more='data = "talk"\n')["posts/one/index.html"]
    assert ">4 komentarze</h2>" in page
    assert re.search(r">18 lis 2026</time>", page)


RSS_FEED = """{{ printf "<?xml version=%q?>" "1.0" | safeHTML }}
<rss version="2.0"><channel><title>x</title>{{ range site.RegularPages }}<item>
<title>{{ .Title }}</title>
{{ partial "comments-feed.html" . }}
</item>{{ end }}</channel></rss>
"""
ATOM_FEED = """{{ printf "<?xml version=%q?>" "1.0" | safeHTML }}
<feed xmlns="http://www.w3.org/2005/Atom"><id>x</id>{{ range site.RegularPages }}<entry>
<title>{{ .Title }}</title>
{{ partial "comments-feed.html" (dict "Page" . "format" "atom") }}
</entry>{{ end }}</feed>
"""


def feed(site: Site, template: str, host: str = HOST, more: str = "") -> Any:
    """Return the feed that a blog builds by a template, as a feed reader reads it."""
    site.write("layouts/index.rss.xml", template)
    site.build(host, more=more)
    path = site.folder / "hugo.toml"
    settings = path.read_text().replace('"RSS", ', "").replace('["html", "commentsvc"]', '["rss"]')
    path.write_text(settings)
    text = site.built()["index.xml"]
    ElementTree.fromstring(text)
    parsed = feedparser.parse(text)
    assert not parsed.bozo, parsed.bozo_exception
    return parsed


def test_a_feed_says_how_many_comments_an_entry_has_and_where(site: Site, exported: Path) -> None:
    """By the Slash and CommentAPI modules in RSS, and by RFC 4685 in Atom."""
    shutil.copytree(exported, site.folder / "data/talk")
    site.post("one")
    site.post("none")
    site.post("silent", "comments: false")
    entries = {each.title: each for each in feed(site, RSS_FEED, more='data = "talk"\n').entries}
    one = entries["one"]
    query = "url=%2Fnotes%2Fposts%2Fone%2F"
    assert one.comments == f"{HERE}#comments"
    assert one.wfw_commentrss == f"{HOST}/feed.rss?{query}"
    assert one.slash_comments == "4"
    assert "slash_comments" not in entries["none"], "the files do not know the page"
    assert not {"comments", "wfw_commentrss"} & {*entries["silent"]}
    more = 'data = "talk"\nsite = "blog"\n'
    entries = {each.title: each for each in feed(site, ATOM_FEED, more=more).entries}
    html, atom = entries["one"].links
    assert (html.rel, html.type, html.href) == ("replies", "text/html", f"{HERE}#comments")
    assert (atom.rel, atom.type) == ("replies", "application/atom+xml")
    assert atom.href == f"{HOST}/feed.atom?site=blog&{query}"
    assert (atom["thr:count"], entries["one"]["thr_total"]) == ("4", "4")
    assert [link.get("thr:count") for link in entries["none"].links] == [None, None]
    assert not entries["silent"].get("links")


def test_a_feed_has_the_counts_of_the_service(site: Site, tmp_path: Path) -> None:
    listen = f"127.0.0.1:{free_ports()[0]}"
    site.post("one")
    site.post("none")
    with serving(tmp_path / "data", {"COMMENTSVC_MODERATION_POLICY": "none"}, listen) as service:
        service.submit("/notes/posts/one/", "Hello")
        entries = feed(site, RSS_FEED, service.address, "build = true\n").entries
        assert {each.title: each.slash_comments for each in entries} == {"one": "1", "none": "0"}
    shutil.rmtree(site.folder / "cache", ignore_errors=True)
    entries = feed(site, RSS_FEED, "http://127.0.0.1:1", "build = true\n").entries
    assert [each.comments for each in entries]
    assert not any("slash_comments" in each for each in entries)


def test_a_service_that_is_away_breaks_no_build(site: Site) -> None:
    for number in range(5):
        site.post(f"n{number}")
    files = site.build("http://127.0.0.1:1", more="build = true\n")
    for number in range(5):
        assert "<noscript>" in files[f"posts/n{number}/index.html"]
    assert site.output.count("this build is without comments") == 1, site.output


def test_a_service_that_fails_breaks_no_build(site: Site, tmp_path: Path) -> None:
    """The service answers, but not with what the page looks for: here it does not know the blog."""
    site.post("one")
    with serving(tmp_path / "data", {}) as service:
        files = site.build(service.address, more="build = true\nabsolute = true\n")
    assert 'url="https://blog.example/notes/posts/one/"' in files["posts/one/index.html"]
    assert "<noscript>" in files["posts/one/index.html"]


NONE = "the settings have no [params.commentsvc], so the service is looked for"


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        ('[Params]\nauthor = "Ann"\n[params.commentsvc]\nhost = "https://c.example"\n', NONE),
        ('[params]\nauthor = "Ann"\n', NONE),
        ("", NONE),
        ('[params]\ncommentsvc = "https://c.example"\n', "params.commentsvc must be a table"),
        ('[params.commentsvc]\nhosts = "https://c.example"\n', 'unknown setting "hosts"'),
        ('[params.commentsvc]\nSORT = "newest"\n', ""),
        ('[params.commentsvc]\nsort = "Newest"\ndepth = 0\nbuild = false\nhost = "/c"\n', ""),
        ('[params.commentsvc]\nload = "click"\ndepth = "2"\nabsolute = "false"\n', ""),
        ('[params.commentsvc]\nsort = "newst"\n', 'sort = "newst", which is ignored; write oldest'),
        ('[params.commentsvc]\nload = "lazy"\n', 'load = "lazy", which is ignored; write click'),
        ("[params.commentsvc]\nload = true\n", 'load = "true", which is ignored; write click'),
        ('[params.commentsvc]\nbuild = "yes"\n', 'build = "yes", which is ignored; write true or'),
        ("[params.commentsvc]\nabsolute = 1\n", 'absolute = "1", which is ignored; write true or'),
        ('[params.commentsvc]\ndepth = "deep"\n', 'depth = "deep", which is ignored'),
        ("[params.commentsvc]\ndepth = -1\n", 'depth = "-1", which is ignored'),
        ('[params.commentsvc]\nhost = "c.example"\n', 'write "https://c.example"'),
        ('[params]\nauthor = "Ann"\n[params.commentsvc]\nhost = ""\n', ""),
        ('[Params.Commentsvc]\nHost = "https://c.example"\n', ""),
    ],
)
def test_settings_that_are_ignored_are_told(site: Site, settings: str, warning: str) -> None:
    for name in ("one", "two"):
        site.post(name)
    site.write("hugo.toml", THEME + SETTINGS + settings)
    assert "<comment-thread " in site.built()["posts/one/index.html"]
    assert site.output.count("commentsvc: ") == (1 if warning else 0), site.output
    assert warning in site.output


PARTIALS = (
    "comments", "comment-count", "page-reactions", "page-views", "comments/provider/commentsvc",
)  # fmt: skip
CONTEXTS = (
    "", ".", "site", ".Site", "$", ".Params", '(dict "Page" .)', '(dict "page" . "x" 1)',
    '"comments"', "1", "(slice 1)", ".Site.Params",
)  # fmt: skip


def test_a_partial_works_for_whatever_a_theme_gives_it(site: Site) -> None:
    """Each call is the whole layout of a page of its own."""
    calls = [f'{{{{ partial "{name}.html" {it} }}}}' for name in PARTIALS for it in CONTEXTS]
    for number, call in enumerate(calls):
        site.write(f"layouts/_default/call{number}.html", call)
        site.post(f"p{number}", f"layout: call{number}")
    files = site.build()
    assert [
        call
        for number, call in enumerate(calls)
        if f'url="/notes/posts/p{number}/"' not in files[f"posts/p{number}/index.html"]
    ] == []


def test_a_list_counts_the_page_that_a_table_names(site: Site) -> None:
    site.write(
        "layouts/index.html",
        '{{ range site.RegularPages }}{{ partial "comment-count.html" (dict "page" .) }}{{ end }}',
    )
    site.post("one")
    assert 'url="/notes/posts/one/"' in site.build()["index.html"]
