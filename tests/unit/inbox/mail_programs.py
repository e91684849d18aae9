"""Answers as the commonest mail programs write them: `answers` makes as many as are asked for.

Each style is that of a program as it comes: where it puts the answer, what it writes above the
mail that it quotes, how it quotes it as text and as HTML, what it adds of its own, and how it
encodes all that. A person has typed one of `WORDS`.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.message import EmailMessage, MIMEPart
from email.policy import SMTP
from html import escape
from typing import Any, NamedTuple

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "pt", "ru", "ja", "zh", "ar")
WORDS = (
    "ok",
    "no",
    "Spam!",
    "Thank you.",
    "Thank you for asking!\n\nWe open at 9:00, on Mondays as well.",
    "Yes. Two things:\n\n- sand it first\n- then oil it\n\nThat is all.",
    "Danke für die Frage. Größe: 3 cm.",
    "Merci ! C’est réparé – à bientôt.",
    "Спасибо, исправлено.",
    "ありがとうございます。直しました。",
    "谢谢，已经修好了。",
    "شكرا، تم إصلاحه.",
    "See https://blog.example/faq/?a=1&b=2\n\nIt says: glue, then wait.",
    "A *bold* claim, 1 < 2 & 3 > 2.",
)
ATTRIBUTIONS = {
    "en": "On Sun, Nov 22, 2026 at 3:00 PM {name} <{sender}> wrote:",
    "de": "Am So., 22. Nov. 2026 um 15:00 Uhr schrieb {name} <{sender}>:",
    "fr": "Le dim. 22 nov. 2026 à 15:00, {name} <{sender}> a écrit :",
    "es": "El dom, 22 nov 2026 a las 15:00, {name} (<{sender}>) escribió:",
    "it": "Il giorno dom 22 nov 2026 alle ore 15:00 {name} <{sender}> ha scritto:",
    "nl": "Op zo 22 nov 2026 om 15:00 schreef {name} <{sender}>:",
    "pl": "niedz., 22 lis 2026 o 15:00 {name} <{sender}> napisał(a):",
    "pt": "Em dom., 22 de nov. de 2026 às 15:00, {name} <{sender}> escreveu:",
    "ru": "вс, 22 нояб. 2026 г. в 15:00, {name} <{sender}>:",
    "ja": "2026年11月22日(日) 15:00 {name} <{sender}>:",
    "zh": "{name} <{sender}> 于2026年11月22日周日 15:00写道：",
    "ar": "في الأحد، 22 نوفمبر 2026 في 3:00 م تمت كتابة ما يلي بواسطة {name} <{sender}>:",
}
FIELDS = {
    "en": ("From", "Sent", "To", "Subject"),
    "de": ("Von", "Gesendet", "An", "Betreff"),
    "fr": ("De", "Envoyé", "À", "Objet"),
    "es": ("De", "Enviado", "Para", "Asunto"),
    "it": ("Da", "Inviato", "A", "Oggetto"),
    "nl": ("Van", "Verzonden", "Aan", "Onderwerp"),
    "pl": ("Od", "Wysłano", "Do", "Temat"),
    "pt": ("De", "Enviado", "Para", "Assunto"),
    "ru": ("От", "Отправлено", "Кому", "Тема"),
    "ja": ("差出人", "送信日時", "宛先", "件名"),
    "zh": ("发件人", "发送时间", "收件人", "主题"),
    "ar": ("من", "تم الإرسال", "إلى", "الموضوع"),
}
ORIGINAL = {
    "en": "-----Original Message-----",
    "de": "-----Ursprüngliche Nachricht-----",
    "fr": "-----Message d'origine-----",
    "es": "-----Mensaje original-----",
    "it": "-----Messaggio originale-----",
    "nl": "-----Oorspronkelijk bericht-----",
    "pl": "-----Oryginalna wiadomość-----",
    "pt": "-----Mensagem original-----",
    "ru": "-----Исходное сообщение-----",
    "ja": "-----元のメッセージ-----",
    "zh": "-----原始邮件-----",
    "ar": "-----الرسالة الأصلية-----",
}
IPHONE = {
    "en": "Sent from my iPhone",
    "de": "Von meinem iPhone gesendet",
    "fr": "Envoyé de mon iPhone",
    "es": "Enviado desde mi iPhone",
    "it": "Inviato da iPhone",
    "nl": "Verstuurd vanaf mijn iPhone",
    "pl": "Wysłane z iPhone’a",
    "pt": "Enviado do meu iPhone",
    "ru": "Отправлено с iPhone",
    "ja": "iPhoneから送信",
    "zh": "发自我的iPhone",
    "ar": "أُرسلت من الـ iPhone",
}
OUTLOOK_MOBILE = {
    "en": "Get Outlook for Android",
    "de": "Outlook für Android beziehen",
    "fr": "Obtenir Outlook pour Android",
    "es": "Obtener Outlook para Android",
    "it": "Ottieni Outlook per Android",
    "nl": "Outlook voor Android downloaden",
    "pl": "Pobierz Outlook dla systemu Android",
    "pt": "Obter o Outlook para Android",
    "ru": "Получить Outlook для Android",
    "ja": "Outlook を入手 (Android)",
    "zh": "获取 Outlook for Android",
    "ar": "الحصول على Outlook لـ Android",
}
# Old charsets, for the languages whose letters they have.
CHARSETS = {
    "de": "iso-8859-1",
    "fr": "windows-1252",
    "es": "iso-8859-15",
    "pl": "iso-8859-2",
    "ru": "koi8-r",
    "ja": "iso-2022-jp",
    "zh": "gb18030",
    "ar": "windows-1256",
}
PIXEL = '<img src="https://track.example/open/a1b2.gif" width="1" height="1" alt="">'


@dataclass(frozen=True)
class Original:
    """The mail of ours that is answered."""

    name: str
    sender: str
    reply_to: str
    message_id: str
    subject: str
    text: str
    html: str


class Answered(NamedTuple):
    """An answer: the mail, its program and language, and what the person typed."""

    program: str
    language: str
    words: str
    raw: bytes


class Parts(NamedTuple):
    """The text and the HTML of an answer, "" for none, and parameters of the text's media type."""

    text: str
    html: str = ""
    flowed: bool = False


Style = Callable[[Original, str, str, random.Random], Parts]


def quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.rstrip("\n").split("\n"))


def attributed(original: Original, language: str) -> str:
    return ATTRIBUTIONS[language].format(name=original.name, sender=original.sender)


def as_html(words: str, tag: str = "div") -> str:
    blank = "<br>" if tag == "div" else "&nbsp;"
    return "".join(f"<{tag}>{escape(line) or blank}</{tag}>" for line in words.split("\n"))


def fields(original: Original, language: str, bold: bool = False) -> list[str]:
    values = (
        f"{original.name} <{original.sender}>",
        "Sunday, November 22, 2026 3:00:00 PM",
        "Me <me@blog.example>",
        original.subject,
    )
    mark = "*" if bold else ""
    return [
        f"{mark}{name}:{mark} {value}" for name, value in zip(FIELDS[language], values, strict=True)
    ]


def gmail(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    line = attributed(original, language)
    if len(line) > 70 and "<" in line:  # it breaks long lines, mostly there
        line = line.replace(f"<{original.sender}", f"<\n{original.sender}")
    text = f"{words}\n\n{line}\n\n{quoted(original.text)}\n"
    shown = escape(attributed(original, language))
    html = (
        f'<div dir="ltr">{as_html(words)}</div>{PIXEL}<br>'
        f'<div class="gmail_quote gmail_quote_container"><div dir="ltr" class="gmail_attr">{shown}'
        f'<br></div><blockquote class="gmail_quote" style="margin:0px">{original.html}'
        "</blockquote></div>"
    )
    return Parts(text, html)


def gmail_android(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    text = f"{words}\n\n{attributed(original, language)}\n\n{quoted(original.text)}\n"
    html = (
        f'<div dir="auto">{as_html(words)}</div><br><div class="gmail_quote"><div dir="ltr"'
        f' class="gmail_attr">{escape(attributed(original, language))}<br></div><blockquote'
        f' class="gmail_quote">{original.html}</blockquote></div>'
    )
    return Parts(text, html)


def outlook(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    block = "\n".join(fields(original, language))
    text = f"{words}\n\n{ORIGINAL[language]}\n{block}\n\n{original.text}\n"
    rows = "<br>".join(
        f"<b>{escape(name)}:</b> {escape(value)}"
        for name, _, value in (line.partition(": ") for line in fields(original, language))
    )
    html = (
        '<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><style><!-- p.MsoNormal'
        "{margin:0cm;} --></style></head><body><div class=WordSection1>"
        + "".join(
            f"<p class=MsoNormal>{escape(line) or '<o:p>&nbsp;</o:p>'}</p>"
            for line in words.split("\n")
        )
        + "<p class=MsoNormal><o:p>&nbsp;</o:p></p><div><div style='border:none;border-top:solid"
        f" #E1E1E1 1.0pt'><p class=MsoNormal>{rows}</p></div></div>{original.html}</div></body>"
        "</html>"
    )
    return Parts(text, html)


def outlook_web(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    block = "\n".join(fields(original, language))
    text = f"{words}\n\n{'_' * 32}\n{block}\n\n{original.text}\n"
    rows = "<br>".join(escape(line) for line in fields(original, language))
    html = (
        f'<div class="elementToProof">{as_html(words)}</div><div id="appendonsend"></div><hr'
        f' style="width:98%" tabindex="-1"><div id="divRplyFwdMsg" dir="ltr">{rows}</div>'
        f"<div>{original.html}</div>"
    )
    return Parts("" if chance.random() < 0.3 else text, html)


def outlook_mobile(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    block = "\n".join(fields(original, language, bold=True))
    advert = OUTLOOK_MOBILE[language]
    text = f"{words}\n\n{advert}<https://aka.ms/AAb9ysg>\n{'_' * 32}\n{block}\n\n{original.text}\n"
    rows = "<br>".join(escape(line) for line in fields(original, language))
    html = (
        f'<div dir="auto">{as_html(words)}</div><div class="ms-outlook-mobile-signature">'
        f'<a href="https://aka.ms/AAb9ysg">{escape(advert)}</a></div>'
        '<div id="mail-editor-reference-message-container"><hr>'
        f'<div id="divRplyFwdMsg">{rows}</div>{original.html}</div>'
    )
    return Parts(text, html)


def apple_mail(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    line = attributed(original, language)
    text = f"{words}\n\n> {line}\n> \n{quoted(original.text)}\n\n"
    html = (
        '<html><head><meta http-equiv="content-type" content="text/html; charset=utf-8"></head>'
        f'<body style="overflow-wrap: break-word;">{as_html(words)}<br><div><blockquote'
        f' type="cite"><div>{escape(line)}</div><br class="Apple-interchange-newline">'
        f"<div>{original.html}</div></blockquote></div><br></body></html>"
    )
    return Parts(text, html if chance.random() < 0.7 else "")


def ios(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    line, mine = attributed(original, language), IPHONE[language]
    text = f"{words}\n\n{mine}\n\n> {line}\n> \n{quoted(original.text)}\n"
    html = (
        f'<html><body dir="auto">{as_html(words)}<div dir="ltr"></div><div>{escape(mine)}</div>'
        f'<div dir="ltr"><br><blockquote type="cite">{escape(line)}<br><br></blockquote></div>'
        f'<blockquote type="cite"><div dir="ltr">{original.html}</div></blockquote></body></html>'
    )
    return Parts(text, html)


def thunderbird(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    names = {"de": "Am 22.11.26 um 15:00 schrieb {}:", "fr": "Le 22/11/2026 à 15:00, {} a écrit :"}
    line = names.get(language, "On 22/11/2026 15:00, {} wrote:").format(original.name)
    quote = f"{line}\n{quoted(original.text)}"
    below = chance.random() < 0.6
    signature = "\n-- \nAnn Example\nhttps://blog.example" if chance.random() < 0.5 else ""
    text = f"{quote}\n\n{words}\n{signature}\n" if below else f"{words}\n{signature}\n\n{quote}\n"
    if not below and signature:  # by default this program puts a signature below the quote
        text = f"{words}\n\n{quote}\n{signature}\n"
    cite = f'<div class="moz-cite-prefix">{escape(line)}<br></div><blockquote type="cite">'
    answer = "<p>" + "<br>".join(escape(each) for each in words.split("\n")) + "</p>"
    end = '<div class="moz-signature">-- <br>Ann Example</div>' if signature else ""
    quote_html = f"{cite}{original.html}</blockquote>"
    order = quote_html + answer if below else answer + quote_html
    html = f"<html><body>{order}{end}</body></html>" if chance.random() < 0.4 else ""
    return Parts(text, html, flowed=not html)


def yahoo(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    line = (
        f"On Sunday, November 22, 2026 at 03:00:00 PM GMT+1, {original.name}"
        f" <{original.sender}> wrote:"
    )
    text = " " + words + f"\n\n    {line}  \n \n {original.text}  "
    html = (
        '<html><head></head><body><div class="ydp1234yahoo-style-wrap" style="font-size:16px">'
        f'<div dir="ltr">{as_html(words)}</div><div><br></div></div><div id="ydp99yahoo_quoted'
        f'_1" class="ydp99yahoo_quoted"><div>{escape(line)}</div><div>{original.html}</div></div>'
        "</body></html>"
    )
    return Parts(text, html)


def proton(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    line = f"On Sunday, November 22nd, 2026 at 3:00 PM, {original.name} <{original.sender}> wrote:"
    advert = "Sent with Proton Mail secure email."
    text = f"{words}\n\n{advert}\n\n{line}\n\n{quoted(original.text)}\n"
    html = (
        f'<div style="font-family: Arial">{as_html(words)}</div><div'
        f' class="protonmail_signature_block protonmail_signature_block-user-empty"><div'
        f' class="protonmail_signature_block-proton">Sent with <a href="https://proton.me/mail">'
        f'Proton Mail</a> secure email.</div></div><div class="protonmail_quote">{escape(line)}'
        f'<br><blockquote class="protonmail_quote" type="cite">{original.html}</blockquote></div>'
    )
    return Parts(text, html)


def mutt(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    line = f"On Sun, Nov 22, 2026 at 03:00:00PM +0000, {original.name} wrote:"
    sign = "\n\n-- \nAnn" if chance.random() < 0.5 else ""
    return Parts(f"{line}\n{quoted(original.text)}\n\n{words}{sign}\n")


def k9(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    line = f"On 22 November 2026 15:00:00 GMT, {original.name} <{original.sender}> wrote:"
    mine = "Sent from my Android device with K-9 Mail. Please excuse my brevity."
    if chance.random() < 0.5:
        return Parts(f"{words}\n-- \n{mine}\n\n{line}\n{quoted(original.text)}\n")
    html = (
        f'<html><body><div dir="auto">{as_html(words)}</div><br><br><div class="k9mail-signature">'
        f'{escape(mine)}</div><div class="gmail_quote"><div dir="auto">{escape(line)}</div>'
        f'<blockquote class="gmail_quote">{original.html}</blockquote></div></body></html>'
    )
    return Parts(f"{words}\n-- \n{mine}\n\n{line}\n{quoted(original.text)}\n", html)


def samsung(original: Original, words: str, language: str, chance: random.Random) -> Parts:
    mine = {"en": "Sent from my Galaxy", "de": "Von meinem Galaxy gesendet"}
    said = mine.get(language, "Sent from my Galaxy")
    text = (
        f"{words}\n\n\n{said}\n\n-------- Original message --------\nFrom: {original.name}"
        f" <{original.sender}> \nDate: 22/11/2026  15:00  (GMT+00:00) \nTo: me@blog.example \n"
        f"Subject: {original.subject} \n\n{original.text}\n"
    )
    html = (
        f'<html><body dir="auto">{as_html(words)}<div id="composer_signature" dir="auto"><div>'
        f"{escape(said)}</div></div><div><br></div><div>-------- Original message --------</div>"
        f"<div>From: {original.name} &lt;{original.sender}&gt;</div><div>Date: 22/11/2026</div>"
        f"<div>To: me@blog.example</div><div>Subject: {escape(original.subject)}</div>"
        f"<div>{original.html}</div></body></html>"
    )
    return Parts(text, html)


PROGRAMS: dict[str, Style] = {
    each.__name__: each
    for each in (
        gmail,
        gmail_android,
        outlook,
        outlook_web,
        outlook_mobile,
        apple_mail,
        ios,
        thunderbird,
        yahoo,
        proton,
        mutt,
        k9,
        samsung,
    )
}


def answers(original: Original, count: int, seed: int = 1) -> Iterator[Answered]:
    """Make `count` answers, taking programs and languages in turn."""
    chance = random.Random(seed)
    programs = list(PROGRAMS)
    for number in range(count):
        program = programs[number % len(programs)]
        language = LANGUAGES[number // len(programs) % len(LANGUAGES)]
        words = chance.choice(WORDS)
        parts = PROGRAMS[program](original, words, language, chance)
        if parts.html and chance.random() < 0.1:
            parts = parts._replace(text="")
        raw = encoded(original, parts, language, number, chance)
        yield Answered(program, language, words, raw)


def encoded(
    original: Original, parts: Parts, language: str, number: int, chance: random.Random
) -> bytes:
    """Return a mail as bytes."""
    message = EmailMessage(policy=SMTP)
    message["From"] = "Ann Example <ann@mail.example>"
    message["To"] = f'"{original.name}" <{original.reply_to}>'
    message["Subject"] = f"Re: {original.subject}"
    message["Message-ID"] = f"<{number}.{chance.getrandbits(64):x}@mail.example>"
    message["In-Reply-To"] = original.message_id
    message["References"] = original.message_id
    both = (_text(parts, language, chance), _html(parts, chance))
    bodies: list[Any] = [body for body in both if body]  # Any: a MIME part; the stubs expect a mail
    if len(bodies) == 1:
        fill(message, bodies[0])
    else:
        message.make_alternative()
        for body in bodies:
            message.attach(body)
    return message.as_bytes()


def _text(parts: Parts, language: str, chance: random.Random) -> MIMEPart | None:
    if not parts.text:
        return None
    body = MIMEPart(policy=SMTP)
    charset = CHARSETS.get(language, "utf-8") if chance.random() < 0.5 else "utf-8"
    try:
        parts.text.encode(charset)
    except UnicodeEncodeError:
        charset = "utf-8"
    body.set_content(parts.text, charset=charset, cte=_cte(charset, chance))
    if parts.flowed:
        body.set_param("format", "flowed")
    return body


def _html(parts: Parts, chance: random.Random) -> MIMEPart | None:
    if not parts.html:
        return None
    body = MIMEPart(policy=SMTP)
    body.set_content(parts.html, subtype="html", cte=_cte("utf-8", chance))
    return body


def _cte(charset: str, chance: random.Random) -> str:
    return "base64" if charset == "iso-2022-jp" else chance.choice(("base64", "quoted-printable"))


def fill(message: EmailMessage, body: MIMEPart) -> None:
    """Make `body` the body of a mail that has no other part."""
    for name, value in body.items():
        if name != "MIME-Version":
            message[name] = value
    message.set_payload(body.get_payload())


def plain(original: Original, words: str, **headers: str) -> bytes:
    """Return a plain-text answer with other header fields; "" leaves a field out."""
    message = EmailMessage(policy=SMTP)
    given = {
        "From": "Ann <ann@mail.example>",
        "To": original.reply_to,
        "Subject": "Re: hi",
        "Message-ID": "<1@mail.example>",
        "In-Reply-To": original.message_id,
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in given.items():
        if value:
            message[name] = value
    message.set_content(words)
    return message.as_bytes()
