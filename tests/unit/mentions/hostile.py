"""Hostile texts from elsewhere, and what readers may get of them."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import comrak

from tests.unit.app_fixture import Served, data
from tests.unit.markup.test_markdown import judge

# HTML with which others may try to run scripts, load things, or change the page around a comment.
HOSTILE = (
    # Elements that run scripts, or load something
    "<script>alert(1)</script>",
    "<script src=//evil.example/x.js></script>",
    "<script\x00>alert(1)</script>",
    "<script/x>alert(1)</script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<SCRIPT>alert(1)</SCRIPT >",
    "</p><script>alert(1)</script><p>",
    "<svg><script>alert&#40;1&#41;</script></svg>",
    "<svg><script xlink:href=data:,alert(1) />",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='&lt;script&gt;alert(1)&lt;/script&gt;'></iframe>",
    "<object data=javascript:alert(1)></object>",
    "<object data='data:text/html,<script>alert(1)</script>'></object>",
    "<embed src=javascript:alert(1)>",
    "<applet code=x></applet>",
    "<frameset><frame src=javascript:alert(1)></frameset>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<link rel=import href=data:text/html,x>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<base href='javascript:/a/-alert(1)//'>",
    "<portal src=https://evil.example/>",
    "<fencedframe></fencedframe>",
    # Attributes that run scripts
    "<img src=x onerror=alert(1)>",
    "<img src=x onerror\n=\nalert(1)>",
    "<img/src='x'/onerror='alert(1)'>",
    '<img src="x` `<script>alert(1)</script>"` `>',
    "<img src=x:alert(alt) onerror=eval(src) alt=1>",
    "<img ''><script>alert(1)</script>''>",
    "<body onload=alert(1)>",
    "<body onpageshow=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><set onbegin=alert(1) attributename=x>",
    "<svg><a><animate attributeName=href values=javascript:alert(1) /><text>x</text></a></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload=alert(1)>#x'/></svg>",
    "<svg><image href=x onerror=alert(1)></svg>",
    "<svg><foreignObject><body onload=alert(1)></foreignObject></svg>",
    "<math><maction actiontype='statusline#http://x' xlink:href='javascript:alert(1)'>x",
    "<math href='javascript:alert(1)'>x</math>",
    "<video><source onerror=alert(1)></video>",
    "<video poster=javascript:alert(1)></video>",
    "<audio src=x onerror=alert(1)></audio>",
    "<input autofocus onfocus=alert(1)>",
    "<select autofocus onfocus=alert(1)></select>",
    "<textarea autofocus onfocus=alert(1)></textarea>",
    "<details open ontoggle=alert(1)>x</details>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<keygen autofocus onfocus=alert(1)>",
    "<p onmouseover=alert(1)>x</p>",
    "<p tabindex=1 onfocus=alert(1) id=x autofocus>x</p>",
    "<div popover id=x onbeforetoggle=alert(1)>x</div><button popovertarget=x>x</button>",
    "<b style='animation:x' onanimationstart=alert(1)>x</b>",
    "<xss contenteditable onpaste=alert(1)>x</xss>",
    "<a onclick=alert(1) href=/x>x</a>",
    # Addresses that run scripts
    "<a href=javascript:alert(1)>x</a>",
    "<a href='JaVaScRiPt:alert(1)'>x</a>",
    "<a href=' javascript:alert(1)'>x</a>",
    "<a href='\x01javascript:alert(1)'>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<a href='java&#10;script:alert(1)'>x</a>",
    "<a href='&#106;avascript&colon;alert(1)'>x</a>",
    "<a href='javascript&#0058;alert(1)'>x</a>",
    "<a href='vbscript:msgbox(1)'>x</a>",
    "<a href='data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg=='>x</a>",
    "<a href='//evil.example/'>x</a>",
    "<a href='\\\\evil.example\\'>x</a>",
    "<a href='https://ok.example/\"onmouseover=\"alert(1)'>x</a>",
    "<a href='https://ok.example/)](javascript:alert(1))'>x</a>",
    "<a href='https://ok.example/&gt;\n\n[x](javascript:alert(1))'>x</a>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<form><button formaction=javascript:alert(1)>x</button></form>",
    "<isindex action=javascript:alert(1) type=image>",
    # Text that another parser may read as an element (mutation XSS)
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<textarea><p title='</textarea><img src=x onerror=alert(1)>'></textarea>",
    "<title><p title='</title><img src=x onerror=alert(1)>'></title>",
    "<style><p title='</style><img src=x onerror=alert(1)>'></style>",
    "<xmp><p title='</xmp><img src=x onerror=alert(1)>'></xmp>",
    "<noembed><img title='</noembed><img src=x onerror=alert(1)>'></noembed>",
    "<plaintext><img src=x onerror=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg></p><style><a id='</style><img src=1 onerror=alert(1)>'>",
    "<math><mtext><table><mglyph><style><!--</style>"
    "<img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!--!><img src=x onerror=alert(1)>--!>",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml version='1.0'?><?x <img src=x onerror=alert(1)>?>",
    "<!DOCTYPE x [<!ENTITY y '<img src=x onerror=alert(1)>'>]>&y;",
    "&lt;img src=x onerror=alert(1)&gt;",
    "&amp;lt;img src=x onerror=alert(1)&amp;gt;",
    "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>",
    "<pre>\n\n```\n<script>alert(1)</script>\n```\n\n</pre>",
    "<table><td>|<script>alert(1)</script>|</td></table>",
    # Markdown within HTML or plain text
    "[x](javascript:alert(1))",
    "<p>[x](javascript&#58;alert(1))</p>",
    "![x](https://evil.example/pixel.gif)",
    "<p>&lt;javascript:alert(1)&gt;</p>",
    "`<img src=x onerror=alert(1)>",
    "$\\href{javascript:alert(1)}{x}$",
    # What disturbs the page around it
    "</div></li></ol></section><h1>x</h1>",
    "<div style='position:fixed;inset:0'>x</div>",
    "<p id=comments class=commentsvc-thread name=forms>x</p>",
    "<comment-thread url=/x/>x</comment-thread>",
    "<style>@import url(//evil.example/)</style>x",
    "<a href=/x target=_top rel=opener ping=//evil.example/>x</a>",
    "x\u202e\u2066evil\u2069",
)

FORBIDDEN = ("script", "style", "iframe", "object", "embed", "base", "meta", "link", "svg")


class Watcher(HTMLParser):
    """Fails on elements and attributes that run scripts, load something, or change the page."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # The thread for search engines, as data, which `comments.test_structured_data` judges
        assert tag not in FORBIDDEN or attrs == [("type", "application/ld+json")]
        for name, value in attrs:
            assert not name.startswith(("on", "style", "srcdoc", "ping", "background"))
            if name in ("href", "src", "action", "formaction", "xlink:href", "poster"):
                scheme = re.match(r"[\x00-\x20]*([a-z][\w\x00-\x20+.-]*):", value or "", re.I)
                assert scheme is None or scheme[1] in ("http", "https", "mailto"), value


def watch(html: str) -> None:
    """Check a part of a page."""
    watcher = Watcher()
    watcher.feed(html)
    watcher.close()


def assert_harmless(service: Served, url: str) -> int:
    """Check all that readers get of a page's comments; return how many there are."""
    items = data(service.get(f"/api/comments?url={url}"))["data"]
    for item in items:
        judge(item["html"])
        assert re.match("https?://", item["permalink"])
        assert re.match("https?://|$", item.get("site", ""))
    watch(service.get(f"/embed/thread?url={url}").body.decode())
    for old in data(service.get(f"/comments?url={url}"))["data"]:
        unsafe = comrak.RenderOptions()
        unsafe.unsafe_ = True
        watch(comrak.render_markdown(old["content"], None, None, unsafe))
    for kind, text in re.findall(
        '<content type="(.*?)">(.*?)</content>', service.get("/feed.atom").body.decode(), re.S
    ):
        assert kind == "html"
        judge(ET.fromstring(f"<x>{text}</x>").text or "")
    for each in data(service.get(f"/isso/?uri={url}"))["replies"]:
        watch(f"<a href='{each['website'] or ''}'>{each['author']}</a>")
        judge(each["text"])
    for each in data(service.get(f"/waline/api/comment?path={url}&pageSize=500"))["data"]["data"]:
        judge(each["comment"])
    for each in data(service.get(f"/artalk/api/v2/comments?page_key={url}&limit=500"))["comments"]:
        judge(each["content"].replace("&#10;", "\n"))
    return len(items)
