"""Make the pictures in docs/pictures anew: `python -m tests.pictures`.

A real service and the demo blog in Chromium, at two device pixels for each CSS pixel, in light and
dark. They look best where the fonts Inter and Noto Color Emoji are installed. In the comparison,
Isso is its published client, and giscus a drawing of its layout.
"""

import io
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

from msgspec.structs import asdict
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from commentsvc.auth import edit_tokens
from commentsvc.auth.signed_links import SignedLinks
from commentsvc.cli import client
from commentsvc.db.schema.inbox import MailedComment
from commentsvc.db.schema.outbox import MAIL, OutboxRow
from commentsvc.delivery.mail import MailComposer
from commentsvc.markup import markdown
from commentsvc.moderation import decision_counts
from commentsvc.readers import subscriptions
from commentsvc.runtime.control_commands import ReceiveComment
from commentsvc.settings import data_dir
from commentsvc.settings.schema import MailSettings, ServerSettings, Settings, Site
from commentsvc.util.clock import SYSTEM_CLOCK
from tests.admin_e2e.moderator_browser import PASSWORD, sign_in
from tests.conftest import FLAGS, chromium_program, find_program
from tests.e2e.program import Service, change, command, serving
from tests.unit.database_fixture import add
from tests.unit.database_fixture import opened as stored
from tests.widget.browser import POST, ROOT, Blog, build_blog, open_form, serve

FOLDER: Final = ROOT / "docs" / "pictures"
QUALITY: Final = 82  # of WebP: letters stay sharp at two pixels for one
MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
# Author, text, parent, status, age in minutes, votes, and the badge
CONVERSATION: Final = (
    (
        "Marta Lindqvist",
        "The kitchen scale is a good idea. I kept mine in the shed and it gained weight every time"
        " it rained. Do you oil the ends, or is the paint enough?",
        None, "approved", 2_900, 7, "",
    ),
    (
        "Nora",
        "Paint is enough for chair legs. For anything thicker than a wrist I use **wax**: it stays"
        " a little soft and follows the wood.",
        1, "approved", 2_700, 4, "owner",
    ),
    ("Marta Lindqvist", "Wax it is. Thank you!", 2, "approved", 2_690, 0, ""),
    (
        "Tomás Ibarra",
        "For those who like numbers, this is how I tell when it is dry:\n\n"
        "```\nmoisture = (weight - dry) / dry\n```\n\nBelow 12 % it may come indoors. 🪑",
        None, "approved", 380, 3, "",
    ),
    (
        "Ines",
        "> Every week I weigh one\n\nMy grandfather knocked two together and listened. He was"
        " right as often as my scale is.",
        None, "approved", 95, 5, "",
    ),
    (
        "Jonas Feld",
        "Would this work with birch as well? I have a stack of it and no patience.",
        None, "pending", 34, 0, "",
    ),
    (
        "Priya Raman",
        "You can hear it too: a dry leg rings. I put a recording of both on my page.",
        1, "pending", 21, 0, "",
    ),
    (
        "Old Harbour Joinery",
        "We sharpen axes on Saturdays, come by with a cake.",
        None, "pending", 12, 0, "",
    ),
)  # fmt: skip
TITLE: Final = "What wet wood knows"
SETTINGS: Final = {
    "COMMENTSVC_SPAM_RATE_LIMIT": "off",
    "COMMENTSVC_MODERATION_POLICY": "none",
    "COMMENTSVC_SITE_TITLE": "Slow Bench",
    "COMMENTSVC_SITE_REACTIONS": "👍,❤️,🎉",
    "COMMENTSVC_SITE_ISSO": "true",
    "COMMENTSVC_SITE_CONTACT": "Ann Example, Elm Street 1, Bree, ann@blog.example",
}
# Kind, reason, outcome, hours and count of decisions in a half-year
DECIDED: Final = (
    ("report", "spam", "deleted", 4, 20),
    ("report", "abuse", "approved", 8, 10),
    ("report", "illegal", "deleted", 2, 5),
    ("moderator", "", "approved", 8, 1_240),
    ("moderator", "", "spam", 4, 315),
    ("moderator", "", "deleted", 4, 45),
    ("objection", "", "", 16, 5),
)
# What the form asks for
ASKS: Final = {
    "COMMENTSVC_SITE_NAME_FIELD": "optional",
    "COMMENTSVC_SITE_EMAIL_FIELD": "required",
    "COMMENTSVC_SITE_WEBSITE_FIELD": "hidden",
    "COMMENTSVC_SITE_GUIDELINES": "Be **kind**, and stay with the wood. [Our guidelines](/about/)"
    " say what is deleted.",
    "COMMENTSVC_SITE_AGREEMENT": "I agree to the guidelines",
    "COMMENTSVC_SITE_PRIVATE_NOTES": "true",
    "COMMENTSVC_SITE_SOCIAL_POSTS": f"{POST} https://mastodon.example/@nora/1159",
}
# Readers react to comments
REACTING: Final = {
    "COMMENTSVC_COMMENTS_VOTES": "reactions",
    "COMMENTSVC_SITE_REACTIONS": "👍,❤️,🎉,👏,💡",
}
# Comments come by mail
MAILS: Final = {
    "COMMENTSVC_SITE_COMMENTS_BY_MAIL": "true",
    "COMMENTSVC_SITE_ORIGINS": "https://blog.example",
    "COMMENTSVC_SERVER_PUBLIC_URL": "https://comments.example",
    "COMMENTSVC_MAIL_HOST": "localhost",
    "COMMENTSVC_MAIL_PORT": "9",
    "COMMENTSVC_MAIL_SENDER": "comments@blog.example",
    "COMMENTSVC_INBOX_ADDRESS": "comments@blog.example",
}
# A page with the elements that stand beside a thread, or with a thread in a theme
ELEMENTS: Final = (
    f'<page-reactions url="{POST}"></page-reactions><h2>Latest comments</h2>'
    '<latest-comments limit="3"></latest-comments><h2>Popular this week</h2>'
    '<popular-pages period="week" limit="3"></popular-pages>'
)
# A thread that loads at the press of a button, and the counter that tells it the number
CLICK: Final = (
    f'<h2>What wet wood knows</h2><p><comment-count url="{POST}"></comment-count></p>'
    "<p>Wet wood is heavy, and it does not keep that to itself.</p>"
    f'<comment-thread url="{POST}" load="click"></comment-thread>'
)
PLAIN: Final = (
    '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>A page</title>'
    "<style>:root { color-scheme: light dark; font: 16px/1.5 system-ui; background: Canvas }"
    " body { width: 420px; margin: 0; padding: 16px } h2 { font-size: 1.1em }</style>"
)
BESIDE: Final = """<style>body { width: 1296px } main { display: grid; gap: 36px;
grid-template-columns: repeat(3, 408px) } main > div { min-width: 0 } b { color: GrayText }
.box { margin: 16px 0; border: 1px solid #8886; border-radius: 6px; font-size: 14px }
.box > div, .box > .reply { padding: 8px 16px } .box p { margin: 8px 0 } .box pre { overflow: auto }
.box > .reply { border-top: 1px solid #8886; background: #8881 }
i { display: inline-block; width: 28px; height: 28px; margin-right: 8px; border-radius: 50%;
background: #8b949e; vertical-align: middle } small { color: GrayText }
blockquote { margin: 8px 0; padding-left: 12px; border-left: 3px solid #8886 }</style>"""


def beside(service: str) -> str:
    """Return the page with the same comments in three systems, one of them drawn."""
    boxes = ""
    for author, text, parent, status, *_ in CONVERSATION:
        if status == "approved":
            head = f"<i></i><strong>{author}</strong> <small>2 days ago</small>"
            said = f"<div{' class=reply' * bool(parent)}>{head}{markdown.render(text)}"
            under = "</div>" if parent else "<small>↑ 1 &nbsp; ☺</small></div>"
            boxes += f"{'' if parent else '</div><div class=box>'}{said}{under}"
    script = f'<script data-isso="{service}/isso/" src="/isso-client/embed.min.js"></script>'
    return (
        f'{BESIDE}<main><div><b>commentsvc</b><comment-thread url="{POST}"></comment-thread></div>'
        f"<div><b>like giscus</b><h3>5 comments</h3><div>{boxes}</div></div><div><b>Isso</b>"
        f'<section id="isso-thread" data-isso-id="{POST}"></section></div></main>{script}'
    )


def fill(data: Path) -> None:
    """Give a new database the conversation, and the account of the moderator ann."""
    with serving(data, SETTINGS) as service:
        for author, text, parent, *_ in CONVERSATION:
            answer = service.submit(POST, text, author=author, parent=parent, title=TITLE)
            assert answer.status == 201, answer
        for url, title in (("/posts/offcuts/", "Offcuts"), ("/posts/the-three-glues/", "Glues")):
            service.submit(url, "I keep all of mine.", author="Ines", title=title)
    assert command("moderator", "add", "ann", "--data", data, given=PASSWORD).code == 0
    with closing(sqlite3.connect(data / data_dir.DATABASE)) as database, database:
        [(now,)] = database.execute("SELECT max(created_at) FROM comment")
        database.execute("UPDATE comment SET created_at = created_at - ?", (5 * 24 * HOUR,))
        for number, (_a, _t, _p, status, age, votes, role) in enumerate(CONVERSATION, 1):
            row = (status, now - age * MINUTE, votes, role, number)
            database.execute(
                "UPDATE comment SET status = ?, created_at = ?, votes = ?, role = ? WHERE id = ?",
                row,
            )
        database.execute("UPDATE comment SET published_at = created_at WHERE status = 'approved'")
        database.execute("UPDATE comment SET published_at = NULL WHERE status = 'pending'")
        database.execute("UPDATE comment SET score = 0, reasons = '' WHERE id < ?", (number,))
        shown = "SELECT count(*) FROM comment WHERE thread_id = 1 AND status = 'approved'"
        database.execute(f"UPDATE thread SET count = ({shown}) WHERE id = 1")
        reaction = "INSERT INTO reaction_count (thread_id, emoji, count) VALUES (1, ?, ?)"
        database.executemany(reaction, [("👍", 12), ("❤️", 5), ("🎉", 2)])


def save(page: Page, name: str, *, whole: bool = False) -> None:
    """Save a picture of what a page shows, or of the `whole` page."""
    Image.open(io.BytesIO(page.screenshot(full_page=whole))).save(
        FOLDER / f"{name}.webp", quality=QUALITY, method=6
    )


@contextmanager
def opened(browser: Browser, origin: str, scheme: str, width: int, height: int) -> Iterator[Page]:
    """Open a tab in a colour scheme, at two device pixels for each CSS pixel."""
    context = browser.new_context(
        base_url=origin,
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=2,
        reduced_motion="reduce",
        locale="en-GB",
        bypass_csp=True,
        viewport={"width": width, "height": height},
    )
    yield context.new_page()
    context.close()


def thread(page: Page, scheme: str) -> None:
    """The comments and the form below a post."""
    page.goto(POST)
    page.locator("comment-thread").scroll_into_view_if_needed()
    page.locator("section.commentsvc-thread").wait_for()
    top = page.locator("comment-thread").bounding_box()
    assert top
    page.mouse.wheel(0, top["y"] - 24)
    page.wait_for_timeout(500)
    save(page, f"thread-{scheme}")


def visited(page: Page, scheme: str) -> None:
    """A thread with comments that are newer than the reader's last visit."""
    before = int(time.time() * 1000) - 12 * HOUR
    kept = json.dumps(json.dumps({POST: before}))
    page.add_init_script(f"localStorage['commentsvc:visits'] = {kept}")
    page.goto(POST)
    thread = page.locator("comment-thread")
    thread.scroll_into_view_if_needed()
    page.locator(".commentsvc-since").wait_for()
    top = thread.bounding_box()
    assert top
    page.mouse.wheel(0, top["y"] - 24)
    page.wait_for_timeout(500)
    save(page, f"visits-{scheme}")


def muted(page: Page, scheme: str) -> None:
    """A thread with a muted author, and the menu that mutes another one."""
    kept = json.dumps(json.dumps(["Tomás Ibarra"]))
    page.add_init_script(f"localStorage['commentsvc:muted'] = {kept}")
    page.add_init_script("localStorage['commentsvc:extras'] = true")
    page.goto(POST)
    thread = page.locator("comment-thread")
    thread.scroll_into_view_if_needed()
    page.get_by_text("You have muted").wait_for()
    last = thread.locator("article").filter(has_text="My grandfather")
    last.get_by_role("button", name="More").click()
    last.locator(".commentsvc-menu").wait_for()
    box = thread.locator("article").filter(has_text="You have muted").bounding_box()
    assert box
    page.mouse.wheel(0, box["y"] - 30)
    page.wait_for_timeout(500)
    save(page, f"muting-{scheme}")


def from_mastodon(page: Page, scheme: str) -> None:
    """The field for the reader's server, where the page has a post on Mastodon."""
    page.goto(POST)
    page.locator("comment-thread").scroll_into_view_if_needed()
    offer = page.get_by_role("button", name="Mastodon")
    offer.wait_for()
    offer.click()
    page.locator(".commentsvc-mastodon input").fill("example.social")
    box = page.locator(".commentsvc-mastodon").bounding_box()
    assert box
    page.mouse.wheel(0, box["y"] - 190)
    page.wait_for_timeout(500)
    save(page, f"mastodon-{scheme}")


def form(page: Page, scheme: str) -> None:
    """The form of a site that asks for more than the usual."""
    page.goto(POST)
    form = open_form(page)
    form.get_by_label("I agree").wait_for()
    form.locator("textarea").fill("Does it crack if you split it in summer?")
    form.get_by_label("Name").fill("Ines")
    form.get_by_label("Email", exact=True).focus()
    box = form.bounding_box()
    assert box
    page.mouse.wheel(0, box["y"] - 24)
    page.wait_for_timeout(500)
    save(page, f"form-{scheme}")


def reacted(browser: Browser, data: Path, blog: Blog) -> None:
    """A comment with reactions, and the emoji to choose from."""
    given = ('{"👍": 4, "💡": 2}', '{"❤️": 1}')
    with closing(sqlite3.connect(data / data_dir.DATABASE)) as database, database:
        put = "UPDATE comment SET reactions = ? WHERE id = ?"
        database.executemany(put, [(counts, number) for number, counts in enumerate(given, 1)])
    content = f'<comment-thread url="{POST}"></comment-thread>'
    origins = {"COMMENTSVC_SITE_ORIGINS": blog.origin}
    with serving(data, SETTINGS | REACTING | origins) as service:
        blog.service = service.address
        for scheme in SCHEMES:
            with opened(browser, blog.origin, scheme, 452, 530) as page:
                plain(page, blog, f"reactions-{scheme}", content)
                page.locator("#commentsvc-2 > article [name=react]:not([value])").click()
                page.locator(".commentsvc-menu").wait_for()
                save(page, f"reactions-{scheme}")


def moderation(page: Page, scheme: str) -> None:
    """The queue."""
    sign_in(page)
    page.locator("article.comment").first.wait_for()
    save(page, f"moderation-{scheme}")


def in_thread(page: Page, blog: Blog, scheme: str) -> None:
    """A moderator in the thread below a post."""
    sign_in(page)
    page.goto(f"{blog.origin}{POST}#comments?moderate")
    page.get_by_role("link", name="Moderate here").click()
    page.wait_for_timeout(1_000)  # a click at once is not taken
    page.get_by_role("button", name="Moderate there").click()
    page.get_by_text("You moderate as").wait_for()
    page.wait_for_timeout(500)
    top = page.locator("comment-thread").bounding_box()
    assert top
    page.mouse.wheel(0, top["y"] + 12)
    page.wait_for_timeout(500)
    save(page, f"thread-moderation-{scheme}")


def privacy(page: Page, scheme: str) -> None:
    """The page about privacy."""
    page.goto("/privacy")
    save(page, f"privacy-{scheme}")


def sites_and_numbers(browser: Browser, data: Path) -> None:
    """The page of sites with one that was added, and the public numbers about moderation."""
    settings = SETTINGS | {
        "COMMENTSVC_SITE_ORIGINS": "https://blog.example",
        "COMMENTSVC_SITE_NUMBERS": "true",
    }
    with serving(data, settings) as service:
        service.submit(POST, "Wax it is.", author="Ines", title=TITLE)
    assert command("moderator", "add", "ann", "--data", data, given=PASSWORD).code == 0
    half = decision_counts.half_of(SYSTEM_CLOCK.now_ms())
    with closing(sqlite3.connect(data / data_dir.DATABASE)) as database, database:
        added = "INSERT INTO decision_count VALUES (1, ?, ?, ?, ?, ?, ?)"
        database.executemany(added, [(half - ago, *row) for ago in range(2) for row in DECIDED])
    with serving(data, settings) as service:
        with opened(browser, service.address, "light", 1100, 720) as page:
            sign_in(page)
            page.goto("/moderation/sites")
            form = page.locator("form").filter(has=page.get_by_label("Name"))
            form.get_by_label("Name").fill("workshop")
            form.get_by_label("Addresses of the blog").fill("https://workshop.example")
            form.get_by_label("Current password").fill(PASSWORD)
            form.get_by_role("button", name="Add").click()
            page.get_by_role("heading", name="Lines for the blog: workshop").wait_for()
        for scheme in SCHEMES:
            with opened(browser, service.address, scheme, 1100, 720) as page:
                sign_in(page)
                page.goto("/moderation/sites")
                save(page, f"sites-{scheme}")
            with opened(browser, service.address, scheme, 760, 720) as page:
                page.goto("/numbers")
                save(page, f"numbers-{scheme}")


def archived(browser: Browser, data: Path) -> None:
    """A thread in an archive, which is opened from the disk."""
    folder = data / "archive"
    assert command("export", "--data", data, "--archive", folder).code == 0
    [file] = folder.glob("site-*/posts-wet-wood-*.html")
    for scheme in SCHEMES:
        with opened(browser, "", scheme, 760, 620) as page:
            page.goto(file.as_uri())
            save(page, f"archive-{scheme}")


def by_mail(browser: Browser, data: Path) -> None:
    """The page that sends a comment which came by mail."""
    words = "My wax went white in the cold. Warm it in your hands first,\nand it behaves."
    mail = MailedComment(b"x", "blog", POST, "ada@mail.example", "Ada Brandt", words, "en")
    now = SYSTEM_CLOCK.now_ms()
    with serving(data, SETTINGS | MAILS) as service:
        keys = edit_tokens.load_keys(data / data_dir.SECRET_KEY, "")
        client.write(data, ReceiveComment(**asdict(mail)))
        with closing(service.rows()) as database:
            [(moment,)] = database.execute("SELECT received_at FROM mailed_comment").fetchall()
        token = SignedLinks(keys).make("submit", 1, moment, expires=now + HOUR)
        for scheme in SCHEMES:
            with opened(browser, service.address, scheme, 760, 560) as page:
                page.goto(f"/mail/submit?t={token}")
                save(page, f"by-mail-{scheme}")


def moved(browser: Browser, data: Path) -> None:
    """Pages that the blog has moved or deleted, on the moderation pages."""
    pages = (
        ("/2024/09/dry-oak/", "How dry is dry enough?", "moved", "/posts/dry-oak/"),
        ("/2025/01/three-glues/", "The three glues", "moved", "/posts/glues/"),
        ("/2025/03/axes/", "Sharp axes", "moved", "/posts/axes/"),
        ("/draft/offcuts/", "Offcuts", "gone", ""),
    )
    with serving(data, SETTINGS | {"COMMENTSVC_SITE_ORIGINS": "https://blog.example"}) as service:
        for url, title, *_ in pages:
            service.submit(url, "I keep all of mine.", author="Ines", title=title)
        assert command("moderator", "add", "ann", "--data", data, given=PASSWORD).code == 0
        row = (
            "INSERT INTO unlisted_page (thread_id, url, state, target, next_at)"
            " SELECT id, url, ?, ?, ? FROM thread WHERE url = ?"
        )
        later = SYSTEM_CLOCK.now_ms() + 24 * HOUR
        for url, _, state, target in pages:
            change(data, row, state, target, later, url)
        for scheme in SCHEMES:
            with opened(browser, service.address, scheme, 1100, 700) as page:
                sign_in(page)
                page.goto("/moderation/moved")
                save(page, f"moved-{scheme}")


# A template of a blog's own: the frame of all mails
FRAME: Final = """<!DOCTYPE html>
<html lang="{{ language.tag }}" dir="{{ language.direction }}"><head><meta charset="utf-8">
<meta name="color-scheme" content="light dark"><title>{{ subject }}</title><style>
:root { color-scheme: light dark }
body { margin: 0; background: #f4efe6; color: #3a2c1d; font: 17px/1.6 Georgia, serif }
.sheet { max-width: 560px; margin: 0 auto; padding: 28px }
.blog { border-bottom: 2px solid #a0672c; font-size: 22px; font-weight: bold }
h1 { font-size: 20px } a { color: #8a4b12 }
.quote { padding-left: 16px; border-left: 3px solid #cdb494 }
.button { padding: 6px 14px; border: 1px solid; border-radius: 20px; text-decoration: none }
.end { color: #6f5d49; font-size: 14px }
@media (prefers-color-scheme: dark) {
body { background: #241c14; color: #eadfce } a { color: #e9b277 } .end { color: #b9a68d } }
</style></head><body><div class="sheet"><p class="blog">{{ site }}</p>
{% block content %}{% endblock %}<p>Mind your fingers,<br>Nora</p>
<div class="end">{% block end %}{% endblock %}</div></div></body></html>
"""


def own_mail(browser: Browser, data: Path) -> None:
    """A mail about a reply, in the frame of a blog."""
    data.mkdir()
    (data / "layout.html").write_text(FRAME)
    now, who = SYSTEM_CLOCK.now_ms(), "ines@mail.example"
    settings = Settings(
        server=ServerSettings(public_url="https://comments.example"),
        mail=MailSettings(host="localhost", sender="nora@blog.example", templates=str(data)),
        sites=(Site(name="blog", origins=("https://blog.example",), title="Slow Bench"),),
    )
    comment, reply = (
        {"author": author, "source": text, "html": markdown.render(text)}
        for author, text, *_ in CONVERSATION[:2]
    )
    with stored(data) as database:
        add(database, now - HOUR, **comment, email=who, title=TITLE, notify=True)
        database.write_now(subscriptions.confirm, 1, now)
        add(database, now, **reply, parent=1)
        row = OutboxRow(2, MAIL, "reply", who, 2, None, "queued", now, now, now + HOUR, 0, "")
        mail = database.read_now(MailComposer(settings, SignedLinks([b"key" * 16])).compose, row)
    assert mail
    body = mail.message.get_body(("html",))
    assert body
    (data / "mail.html").write_text(body.get_content())
    for scheme in SCHEMES:
        with opened(browser, "", scheme, 760, 100) as page:
            page.goto((data / "mail.html").as_uri())
            save(page, f"own-mail-{scheme}", whole=True)


def one_language(browser: Browser, data: Path) -> None:
    """A thread in several languages, of which one is chosen without scripts."""
    said = (
        ("en", "Marta Lindqvist", "Does the wax go on before the oil, or after it?"),
        ("de", "Ines Vogel", "Erst das Öl, dann das Wachs. Und dazwischen eine Nacht warten."),
        ("fr", "Camille Roux", "Chez moi, la cire a blanchi : il faisait trop froid."),
        ("de", "Jonas Petri", "Bei mir auch. Das Wachs vorher in die Sonne stellen hilft."),
    )
    settings = SETTINGS | {"COMMENTSVC_SITE_REACTIONS": ""}
    with serving(data, settings) as service:
        for _, author, words in said:
            service.submit(POST, words, author=author, title="Wax on wet wood")
    with closing(sqlite3.connect(data / data_dir.DATABASE)) as database, database:
        correct = "UPDATE comment SET lang = ? WHERE author = ?"
        database.executemany(correct, [each[:2] for each in said])
    with serving(data, settings) as service:
        for scheme in SCHEMES:
            with opened(browser, service.address, scheme, 760, 520) as page:
                page.goto(f"/embed/thread?url={POST}&view=page")
                page.get_by_role("button", name="Deutsch").click()
                save(page, f"one-language-{scheme}")


def plain(
    page: Page, blog: Blog, name: str, content: str, theme: str = "", *, is_whole: bool = False
) -> None:
    """Elements on a page without styles of its own."""
    static = f"{blog.service}/static"
    scripts = "".join(
        f'<script type="module" src="{static}/{each}.js"></script>'
        for each in ("comments", "count", "reactions", "latest", "popular", "search", "corrections")
    )
    style = f'<link rel="stylesheet" href="{static}/themes/{theme}.css">' if theme else ""
    (blog.folder / "plain.html").write_text(f"{PLAIN}{style}{scripts}{content}")
    page.goto("/plain.html")
    page.wait_for_load_state("networkidle")
    save(page, name, whole=is_whole)


def searched(page: Page, blog: Blog, scheme: str) -> None:
    """A search with its results."""
    plain(page, blog, f"search-{scheme}", "<comment-search></comment-search>")
    page.get_by_role("searchbox").fill("dry")
    page.get_by_role("searchbox").press("Enter")
    page.locator("comment-search li").first.wait_for()
    save(page, f"search-{scheme}", whole=True)


def corrected(page: Page, blog: Blog, scheme: str) -> None:
    """A correction of words that are selected."""
    article = (
        "<article><h1>Wet wood</h1><p id=words>Dry teh oak in the shed, not in the kitchen.</p>"
        "<comment-corrections></comment-corrections></article>"
    )
    name = f"corrections-{scheme}"
    plain(page, blog, name, article)
    words = "document.getElementById('words').firstChild"
    page.evaluate(f"getSelection().setBaseAndExtent({words}, 4, {words}, 11)")
    page.locator(".commentsvc-at-words").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("textarea").fill("It should be “the oak”.")
    dialog.locator("[name=author]").fill("Marta Lindqvist")
    dialog.get_by_label("You may thank me").check()
    save(page, name)


def main() -> None:
    """Make all pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data, blog = Path(folder) / "data", Path(folder) / "blog"
        blog.mkdir()
        fill(data)
        browser = playwright.chromium.launch(
            executable_path=chromium_program(playwright), args=FLAGS
        )
        archived(browser, data)
        by_mail(browser, data)
        one_language(browser, Path(folder) / "languages")
        moved(browser, Path(folder) / "moved")
        own_mail(browser, Path(folder) / "mail")
        sites_and_numbers(browser, Path(folder) / "sites")
        isso = blog / "isso-client"
        isso.mkdir()
        for name in ("js/embed.min.js", "css/isso.css"):
            (isso / name.partition("/")[2]).write_bytes((files("isso") / name).read_bytes())
        with serve(blog) as server:
            origins = {"COMMENTSVC_SITE_ORIGINS": server.origin}
            with serving(data, SETTINGS | ASKS | origins) as service:
                server.service = service.address
                build_blog(find_program("hugo"), service.address, blog)
                make(browser, service, server)
            reacted(browser, data, server)
        browser.close()


def make(browser: Browser, service: Service, blog: Blog) -> None:
    """Make the pictures of a running service and blog."""
    shown: list[tuple[str, Callable[[Page, str], None], str, tuple[int, int]]] = [
        ("thread", thread, blog.origin, (860, 1130)),
        ("visits", visited, blog.origin, (860, 630)),
        ("muting", muted, blog.origin, (860, 460)),
        ("mastodon", from_mastodon, blog.origin, (860, 340)),
        ("form", form, blog.origin, (720, 470)),
        ("moderation", moderation, service.address, (1100, 720)),
        ("privacy", privacy, service.address, (760, 900)),
    ]
    themed = f'<comment-thread url="{POST}"></comment-thread>'
    for scheme in SCHEMES:
        for _name, show, origin, (width, height) in shown:
            with opened(browser, origin, scheme, width, height) as page:
                show(page, scheme)
        with opened(browser, blog.origin, scheme, 452, 100) as page:
            plain(page, blog, f"elements-{scheme}", ELEMENTS, is_whole=True)
        with opened(browser, service.address, scheme, 860, 720) as page:
            in_thread(page, blog, scheme)
        with opened(browser, blog.origin, scheme, 452, 100) as page:
            plain(page, blog, f"click-{scheme}", CLICK, is_whole=True)
        with opened(browser, blog.origin, scheme, 452, 100) as page:
            searched(page, blog, scheme)
        with opened(browser, blog.origin, scheme, 720, 560) as page:
            corrected(page, blog, scheme)
        with opened(browser, blog.origin, scheme, 1328, 100) as page:
            plain(page, blog, f"side-by-side-{scheme}", beside(service.address), is_whole=True)
    for theme, scheme in (("compact", "light"), ("cards", "dark")):
        with opened(browser, blog.origin, scheme, 452, 520) as page:
            plain(page, blog, f"{theme}-{scheme}", themed, theme)


if __name__ == "__main__":
    main()
