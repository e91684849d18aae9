"""The words of an answer: a mail's text without quotations and signatures.

Our mails begin with a line between ##- and -## that says where to write. So the text below it can
be told from an answer in every program and language, and so can the lines above it that name us:
programs write there whose mail they quote. In programs that quote with ">", the answer may be above
the quotation, below it, or between its lines. What else is removed are signatures, and lines in
which programs and devices advertise themselves.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from commentsvc.inbox.commands import THANKS_LENGTH, is_line_of_signature

_MARK: Final = re.compile(r"##\s?-.{1,120}?-\s?##")
_UNSEEN: Final = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]")
_SPACES: Final = re.compile("[\xa0\u2000-\u200a\u202f\u205f]")
_PICTURE: Final = re.compile(
    r"\[(?:image|cid|inline)\s?:[^\]]{0,200}\]|!\[[^\]]{0,80}\]\(cid:[^)]{0,200}\)|\ufffc"
)
# "-----Original Message-----", in any language, or a line of dashes.
_SEPARATOR: Final = re.compile(
    r"\s*(?:[-=*‐]{3,}\s?[^\s=*‐-].{0,120}\S\s?[-=*‐]{3,}|[_=]{5,}|[-‐—–─]{5,}|\*{5,}"
    r"|[Oo]riginal [Mm]essage)\s*"
)
_RULE: Final = re.compile(r"\s*[-_=*‐‑—–]{3,}\s*")
# "From: …", in any language; Gmail writes bold as *…*.
_FIELD: Final = re.compile(r"\s*\|?\*?[^\s:*>\d][^:*>\d]{0,24}\*?\s?[:：]\*?(?:\s|$)")
_MOMENT: Final = re.compile(
    r"\b\d{1,2}[:.h]\d{2}\b|\b(?:20|14|25)\d\d\b|\d{4}年|\d{1,2}[./-]\d{1,2}[./-]\d{2}"
    r"|[٠-٩۰-۹]{1,2}[:٫][٠-٩۰-۹]{2}|[٠-٩۰-۹]{4}|\d{1,2}\s?[時时点시]"
)
# What a line ends with that says who wrote what follows.
_ENDS_ATTRIBUTION: Final = (":", "：", ">", "--")
# "On 22/11/2026 at 15:00, X <x@y.example> wrote:", also of somebody else.
_NAMES_SOMEBODY: Final = re.compile(r"[^\s@<>]{1,64}@[^\s@<>]{1,255}\.\w")
_OWN_LINE: Final = re.compile(
    r"(?:sent (?:from|with|via|using|by|on) |get (?:outlook|bluemail) for |envoyé (?:de|depuis"
    r"|avec|à partir|par) |télécharger outlook|obtenir outlook|obtenez outlook"
    r"|von meinem .{1,40} gesendet|gesendet (?:von|mit|über|aus|via) |holen sie sich outlook"
    r"|outlook für .{1,20} beziehen|laden sie outlook|diese nachricht wurde von meinem "
    r"|von unterwegs gesendet|enviado (?:desde|do|de|da|dende|com|con|a partir|des d|via|pelo) "
    r"|enviat (?:des d|amb) |obtener outlook|obter o outlook|baixe o outlook|inviato (?:da|dal"
    r"|con|tramite) |scarica outlook|ottieni outlook|verzonden (?:vanaf|met|via|vanuit) "
    r"|verstuurd (?:vanaf|met|vanuit) |outlook voor .{1,20} downloaden|wysłan[eoya]\w* (?:z|za"
    r"|przez) |pobierz outlook|отправлено (?:с|из|от|через) |получить outlook|скачать outlook"
    r"|надіслано (?:з|із|від|через) |адпраўлена з |изпратено от |послато са |odesláno (?:z|ze"
    r"|pomocí) |odoslané (?:z|zo|pomocou) |poslano (?:z|s|sa|iz) |poslané (?:z|zo) "
    r"|trimis de pe |expediat de pe |elküldve |küldve |az? .{1,30} küldve|skickat från "
    r"|skickades från |skickat med |sendt fra |sendt med |sent frá |lähetetty |saadetud "
    r"|nosūtīts no |išsiųsta iš |στάλθηκε από |εστάλη από |απεστάλη από |.{1,30}['’]?(?:dan|den"
    r"|ten|tan|ımdan|imden) gönderildi|dikirim (?:dari|menggunakan) |gửi từ |đã gửi từ "
    r"|được gửi từ |ส่งจาก|sendita (?:de|per) |发自|從我的|从我的|發自|寄自|來自我的|来自我的"
    r"|获取 outlook|取得 outlook|下載 outlook|.{1,30}から送信|outlook を入手"
    r"|outlook for .{1,20}を入手|iphoneから|.{1,30}에서 보냄|나의 .{1,20}에서|내 .{1,20}에서"
    r"|outlook .{0,20}다운로드|[اأ]ُ?رسلت? من|تم الإرسال من|مُ?رسل من|الحصول على outlook"
    r"|فرستاده شده از|ارسال شده از|ارسال از|נשלח מ|נשלחה מ|קבל את outlook|मेरे .{1,20} से भेजा"
    r"|भेजा गया|sender notified by|virus[- ]free\.? ?(?:www\.)?av|this email was sent with "
    r"|diese e-?mail wurde von avast|secured by |scanned by )",
    re.IGNORECASE,
)
# Words of such lines that a person's own sentences seldom have.
_ADVERTISED: Final = re.compile(
    r"phone|mobil|móvil|celular|cellulare|handy|tele?fon|téléphone|teléfono|tablet|\bapps?\b"
    r"|brevity|typos|avast|\bavg\b|virus|spam|secured|scanned|superhuman|mailtrack|mailspring",
    re.IGNORECASE,
).search
_OWN_SENTENCE: Final = 6  # words; a longer sentence that names no program is the person's
_OWN_LINE_LENGTH: Final = 160  # characters; a longer line below an answer is the person's
_LINKED_LENGTH: Final = 4_000  # characters; the same with the addresses of its links
# The names of devices and mail programs. A short last line with one is a signature in any language.
_DEVICE: Final = re.compile(
    r"(?:\bi(?:phone|pad|pod|os)\b|iphone|ipad|\bapple watch\b|\bandroid\b|\bgalaxy\b|samsung"
    r"|huawei|\bhonor\b|xiaomi|redmi|\bpoco\b|oneplus|\boppo\b|\bvivo\b|realme|\bpixel\b|nokia"
    r"|lumia|blackberry|xperia|motorola|\bmoto\b|\bzte\b|smartphone|windows (?:phone|mail)"
    r"|outlook|yahoo|proton ?mail|thunderbird|k-9|fairemail|\bspark\b|mailbird|em client"
    r"|bluemail|airmail|\baol\b|\bgmx\b|web\.de|mail\.ru|яндекс|yandex|qq邮箱|网易|foxmail"
    r"|\bzoho\b|fastmail|\btuta(?:nota)?\b|libero|t-online|rambler|naver|daum)",
    re.IGNORECASE,
).search
_DEVICE_LENGTH: Final = 60  # characters
_ENDS_SENTENCE: Final = re.compile(r"[.!?…。！？؟।]\s*$").search
_ADDRESS_LINE: Final = re.compile(r"\s*[<(\[]?(?:https?://|www\.)\S+[>)\]]?\s*")
# A telephone number, as in signatures.
_TELEPHONE: Final = re.compile(
    r"(?:\+\d|\b(?:tel|fon|telefon|t[ée]l[ée]phone|phone|mobile?|mob|fax|handy|cell?)\b\W{0,3}\(?\d)"
    r"[\d ()/.-]{5,30}\d",
    re.IGNORECASE,
).search
# The words of notices below mails of companies.
_NOTICE: Final = re.compile(
    r"\bconfidential(?:ity|ly)?\b|\bintended (?:recipient|solely|only)|\bprivileged\b"
    r"|\bdisclaimer\b|\bvertraulich|\bconfidentiel|\bconfidencial|\briservat|\bvertrouwelijk|\bpoufn|\bdůvěrn"
    r"|конфиденциальн|機密|机密|保密|기밀|\bplease consider the environment",
    re.IGNORECASE,
).search
# What is left of a picture with a link, and of a place in a page, in the text of an HTML mail.
_LINK_OF_PICTURE: Final = re.compile(r"\s*<(?:https?://|#)[^\s>]+>\s*")
_TARGETS: Final = re.compile(r"\s?[<(\[]\s?https?://[^\s>)\]]*\s?[>)\]]")
# Microsoft's mail servers put such an address in place of each link, with that of the recipient.
_SAFE_LINK: Final = re.compile(
    r"https://[a-z0-9-]{1,40}\.safelinks\.protection\.outlook\.com/[^\s<>?]{0,40}\?url="
    r"([^\s<>&]{1,4000})[^\s<>)\]]*?(?:reserved=0|(?=[\s<>)\]]|$))",
    re.IGNORECASE,
)
# Which mail servers of companies put above a mail from outside.
_BANNER: Final = re.compile(
    r"\W{0,6}(?:external|caution|warning|notice|extern|externe|achtung|vorsicht|attention|atenci[oó]n"
    r"|attenzione|let op|uwaga)\b[^\n]{0,80}\n?[^\n]{0,120}"
    r"(?:mail|message|sender|outside|nachricht|absender|courriel|exp[ée]diteur|correo|remitente|bericht)",
    re.IGNORECASE,
).match
_URL: Final = re.compile(r"(?:https?://|mailto:)[^\s<>\x00-\x1f]+", re.IGNORECASE).fullmatch
_DASHES: Final = "-- "
_MARKS: Final = (_DASHES, "--", "—", "__")
_LONG_SIGNATURE: Final = 160  # characters
_TRACKER: Final = re.compile(r"\s*(?:mailtrack|remove)\b.{0,80}", re.IGNORECASE)
_ATTRIBUTION_LINES: Final = 3
_WRAPPED: Final = 60  # characters; programs break lines longer than 65 to 80
# Lines above our mark in which a program tells of the mail that it quotes.
_HEAD_LINES: Final = 16


class OwnWords(NamedTuple):
    """The words of an answer, "" for none, and whether the mail has a quotation.

    `has_more` says that the words may contain a mail that a program quotes in an unknown way.
    """

    words: str
    quotes: bool
    has_more: bool = False


class _Ours(NamedTuple):
    """How a program may name the mail of ours that it quotes, in lower case."""

    names: re.Pattern[str] | None
    addresses: tuple[str, ...]

    def are_named(self, line: str) -> bool:
        """Return whether a line has one of our names or addresses."""
        low = line.lower()
        return self.has_address(low) or bool(self.names and self.names.search(low))

    def has_address(self, line: str) -> bool:
        """Return whether a line has one of our addresses."""
        low = line.lower()
        return any(address in low for address in self.addresses)


def read(text: str, names: Sequence[str], addresses: Sequence[str]) -> OwnWords:
    """Return what a person wrote in a mail.

    `names` and `addresses` are the senders of our mails; a program that quotes one names them.
    """
    text = _SAFE_LINK.sub(_target, text)
    plain = _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\x85", "\n"))
    lines = _SPACES.sub(" ", plain).split("\n")
    lines = _unescaped([line if line == _DASHES else line.rstrip() for line in lines])
    known = "|".join(rf"(?<!\w){re.escape(name.lower())}(?!\w)" for name in names if name)
    lower = tuple(address.lower() for address in addresses if address)
    ours = _Ours(re.compile(known) if known else None, lower)
    lines, cut = _above_the_cut(lines, ours)
    has_more = _has_broken_quote(lines)
    lines, quotes = _without_quotes(lines, ours)
    whole, lines = lines, _without_signature(lines)
    if _may_be_own(whole, lines):
        lines, has_more = whole, True
    words = "\n".join(line for line in lines if not _is_picture(line))
    words = re.sub(r"\n{3,}", "\n\n", words).strip("\n")
    has_more = has_more or _quotes_unknown(lines) or bool(_BANNER(words)) or _has_footer(words)
    return OwnWords(words, cut or quotes, has_more)


def _has_footer(words: str) -> bool:
    """Return whether the last paragraph of several is one that programs or companies add.

    It has a telephone number, or the words of a notice.
    """
    _, gap, last = words.rpartition("\n\n")
    return bool(gap) and bool(_TELEPHONE(last) or _NOTICE(last))


def _unescaped(lines: list[str]) -> list[str]:
    """Return lines without the ">" that a mailbox of one file puts before "From "."""
    around = ["", *lines, ""]
    return [
        line[1:]
        if line.startswith(">From ")
        and not (around[number].startswith(">") or around[number + 2].startswith(">"))
        else line
        for number, line in enumerate(lines)
    ]


def _target(found: re.Match[str]) -> str:
    target = unquote(found[1])
    return target if _URL(target) else found[0]


def _above_the_cut(lines: list[str], ours: _Ours) -> tuple[list[str], bool]:
    """Return the lines above a mail quoted without ">", and whether there is one."""
    for number, line in enumerate(lines):
        if line.lstrip().startswith((">", "|")) and not _FIELD.match(line):
            continue
        nearby = " ".join(lines[number : number + 2])
        found = _MARK.search(nearby)
        if found and found.start() < len(line):
            return _without_head(lines[:number], ours), True
        if _begins_fields(lines, number, ours) or _begins_unmarked_quote(lines, number, ours):
            return _before_head(lines, number, ours), True
        if _SEPARATOR.fullmatch(line) and _is_followed_by_quote(lines, number + 1, ours):
            return lines[:number], True
    return lines, False


def _is_followed_by_quote(lines: list[str], number: int, ours: _Ours) -> bool:
    """Return whether our mail follows a separator line."""
    while number < len(lines) and not lines[number]:
        number += 1
    rest = lines[number : number + 12]
    return _begins_fields(lines, number, ours) or any(
        line.startswith(">") or _MARK.search(line) or ours.are_named(line) for line in rest
    )


def _begins_fields(lines: list[str], number: int, ours: _Ours) -> bool:
    """Return whether a block of our mail's header fields begins here, as Outlook quotes it."""
    block = lines[number : number + 8]
    length = next((n for n, line in enumerate(block) if not _FIELD.match(line)), len(block))
    return length >= 3 and any(ours.are_named(line) for line in block[:length])


def _begins_unmarked_quote(lines: list[str], number: int, ours: _Ours) -> bool:
    """Return whether a line introduces a quotation without ">" marks, as Yahoo writes it."""
    line = lines[number]
    if not (line.endswith(_ENDS_ATTRIBUTION) and _MOMENT.search(line) and ours.are_named(line)):
        return False
    below = next((each for each in lines[number + 1 : number + 5] if each.strip()), "")
    return not below.lstrip().startswith(">")


def _without_head(lines: list[str], ours: _Ours) -> list[str]:
    """Return `lines`, which our mail follows, without those that introduce it.

    These are all lines from the one that names us, which a program may have broken into three, and
    the lines above it that belong to it: header fields, the moment, a separator.
    """
    end = _end(lines, len(lines))
    floor = max(0, end - _HEAD_LINES)
    naming = (number for number in range(floor, end) if _names_us(lines, number, end, ours))
    if (start := next(naming, end)) < end:
        return _before_head(lines, start, ours)
    if (count := _count_fields(lines, end)) >= 3:
        return _before_head(lines, end - count, ours)
    end = _end(lines, _attribution(lines, end, ours))
    if end and _SEPARATOR.fullmatch(lines[end - 1]):
        end -= 1
    return lines[:end]


def _names_us(lines: Sequence[str], number: int, end: int, ours: _Ours) -> bool:
    """Return whether a line above our mail names us, or begins a broken address or name of ours.

    The name of a site alone may be in a person's words too, unless the line introduces a mail.
    """
    line, below = lines[number], lines[number + 1] if number + 1 < end else ""
    if ours.has_address(line) or (not ours.has_address(below) and ours.has_address(line + below)):
        return True
    whole = f"{line} {below}"
    if not ours.are_named(line) and (ours.are_named(below) or not ours.are_named(whole)):
        return False
    rest = [each for each in lines[number:end] if each]
    if len(rest) > _ATTRIBUTION_LINES:
        return bool(_FIELD.match(line))
    above = lines[number - 1] if number else ""
    return bool(rest[-1].endswith(_ENDS_ATTRIBUTION) or _MOMENT.search(" ".join([above, *rest])))


def _before_head(lines: list[str], start: int, ours: _Ours) -> list[str]:
    """Return the lines above `start`, without those right above it that belong to it."""
    for _ in range(_HEAD_LINES):
        above = lines[start - 1] if start else ""
        moments = len(_MOMENT.findall(above)) if len(above) <= _OWN_LINE_LENGTH else 0
        if not (
            (above and _SEPARATOR.fullmatch(above))
            or (_FIELD.match(above) and _FIELD.match(lines[start]))
            or moments > bool(_MOMENT.search(lines[start]))
            or (above and ours.are_named(above))
        ):
            break
        start -= 1
    end = _end(lines, start)
    return lines[: end - bool(end and _SEPARATOR.fullmatch(lines[end - 1]))]


def _is_moment(line: str) -> bool:
    """Return whether a line says when somebody wrote: "Am So., 22. Nov. 2026 um 15:00 schrieb"."""
    return len(line) <= _OWN_LINE_LENGTH and len(_MOMENT.findall(line)) >= 2


def _names_somebody(line: str) -> bool:
    return "@" in line and bool(_NAMES_SOMEBODY.search(line))


def _count_fields(lines: Sequence[str], end: int) -> int:
    start = end
    while start and _FIELD.match(lines[start - 1]):
        start -= 1
    return end - start


def _has_broken_quote(lines: Sequence[str]) -> bool:
    """Return whether a program has broken long quoted lines, with ">" before the first part only.

    Or whether it has put ">" before the first line of our mail only.
    """
    quoted = [line.lstrip().startswith(">") for line in lines]
    for number, line in enumerate(lines[:-1]):
        if not quoted[number] or quoted[number + 1]:
            continue
        is_wrapped = len(line) >= _WRAPPED and number + 2 < len(lines) and quoted[number + 2]
        if lines[number + 1] and (is_wrapped or _MARK.search(line)):
            return True
    return False


def _quotes_unknown(lines: Sequence[str]) -> bool:
    """Return whether a text has a line that introduces a mail, or our mark."""
    for number, line in enumerate(lines):
        if _MARK.search(line) or "##-" in line or "-##" in line:
            return True
        has_moment = bool(_MOMENT.search(line))
        if line.endswith(_ENDS_ATTRIBUTION) and (
            _is_moment(line) or (has_moment and _names_somebody(line))
        ):
            return True
        block = lines[number : number + 3]
        if (
            len(block) == 3
            and all(map(_FIELD.match, block))
            and any(_names_somebody(each) or _is_moment(each) for each in block)
        ):
            return True
        if len(line) > 8 and _SEPARATOR.fullmatch(line) and any(lines[number + 1 :]):
            below = " ".join(lines[number + 1 : number + 4])
            if _MOMENT.search(below) or _names_somebody(below):
                return True
    return False


def _without_quotes(lines: list[str], ours: _Ours) -> tuple[list[str], bool]:
    """Return the lines that are not quoted, and whether any were."""
    kept: list[str] = []
    quotes = False
    for line in lines:
        if line.lstrip().startswith(">"):
            if not quotes:
                kept = kept[: _attribution(kept, _end(kept, len(kept)), ours)]
                kept.append("")
            quotes = True
        elif quotes and not line and kept and not kept[-1]:
            continue
        else:
            kept.append(line)
    return kept, quotes


def _attribution(lines: Sequence[str], end: int, ours: _Ours) -> int:
    """Return the index of the attribution line before `end`; `end` if there is none."""
    if not end or not lines[end - 1].endswith(_ENDS_ATTRIBUTION):
        return end
    for count in range(1, min(_ATTRIBUTION_LINES, end) + 1):
        block = lines[end - count : end]
        if not block[0]:
            return end
        text = " ".join(block)
        if text.count("<") == text.count(">") and (_MOMENT.search(text) or ours.are_named(text)):
            start = end - count
            for above in reversed(lines[max(0, end - _ATTRIBUTION_LINES) : start]):
                has_moment = _MOMENT.search(above) and not _MOMENT.search(text)
                if not (above and (has_moment or ours.has_address(above))):
                    break
                start -= 1
            return start
    return end


def _without_signature(lines: list[str]) -> list[str]:
    marks = (number for number, line in enumerate(lines) if line in _MARKS)
    end = _end(lines, next(marks, len(lines)))
    after_program = False
    while end:
        last, above = lines[end - 1], lines[end - 2] if end > 1 else ""
        if _is_of_a_program(last) or _is_of_a_device(lines, end):
            end, after_program = end - 1, True
        elif _RULE.fullmatch(last) or (after_program and _LINK_OF_PICTURE.fullmatch(last)):
            end -= 1
        elif _is_of_a_program(above) and (_ADDRESS_LINE.fullmatch(last) or _TRACKER.match(last)):
            end, after_program = end - 2, True
        elif _LINK_OF_PICTURE.fullmatch(last) and any(
            map(_is_of_a_program, lines[max(end - 3, 0) : end])
        ):
            end -= 1
        else:
            break
        end = _end(lines, end)
    return lines[:end]


def _may_be_own(whole: Sequence[str], kept: Sequence[str]) -> bool:
    """Return whether a person may have written what was left out as a signature.

    That is so for a short sentence that only looks like a program's line, and for sentences below
    two dashes, which stand for a line in Markdown. With a space they are always a signature's mark
    (RFC 3676, 4.3).
    """
    below = [line for line in whole[len(kept) :] if line.strip()]
    if not any(kept):
        return bool(below) and below[0] not in _MARKS and not _DEVICE(" ".join(below))
    mark = next((number for number, line in enumerate(below) if line in _MARKS), None)
    if mark is None or below[mark] == _DASHES or len(" ".join(kept).split()) <= THANKS_LENGTH:
        return False
    text = below[mark + 1 :]
    is_long = len(" ".join(text)) > _LONG_SIGNATURE
    return is_long and not is_line_of_signature(text[0])


def _is_of_a_device(lines: Sequence[str], end: int) -> bool:
    """Return whether the last line before `end` is a signature that names a device."""
    last = lines[end - 1]
    stands_alone = end > 2 and not lines[end - 2] and any(lines[: end - 2])
    return (
        stands_alone
        and len(last) <= _DEVICE_LENGTH
        and bool(_DEVICE(last))
        and not _ENDS_SENTENCE(last)
    )


def _is_of_a_program(line: str) -> bool:
    if len(line) > _LINKED_LENGTH:
        return False
    plain = _TARGETS.sub("", line).strip(" *_[(<-–—")
    if len(plain) > _OWN_LINE_LENGTH or not _OWN_LINE.match(plain):
        return False
    is_sentence = _ENDS_SENTENCE(plain) and len(plain.split()) > _OWN_SENTENCE
    return not is_sentence or bool(_DEVICE(plain) or _ADVERTISED(plain))


def _is_picture(line: str) -> bool:
    return bool(line) and not _PICTURE.sub("", line).strip()


def _end(lines: Sequence[str], end: int) -> int:
    """Return the index after the last non-empty line before `end`."""
    while end and not lines[end - 1].strip():
        end -= 1
    return end
