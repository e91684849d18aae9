"""The words of an answer: a mail's text without quotations and signatures.

Our mails begin with a line between ##- and -## that says where to write. So the text below it can
be told from an answer in every program and language. In programs that quote with ">", the answer
may be above the quotation, below it, or between its lines. What else is removed are the line above
a quotation that says who wrote it, signatures, and lines in which programs advertise themselves.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_MARK: Final = re.compile(r"##\s?-.{1,120}?-\s?##")
_UNSEEN: Final = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")
_PICTURE: Final = re.compile(r"\[(?:image|cid|inline)\s?:[^\]]{0,200}\]|!\[\]\(cid:[^)]{0,200}\)")
# "-----Original Message-----", in any language.
_SEPARATOR: Final = re.compile(r"\s*(?:-{4,}\s?[^\s-].{0,60}\S\s?-{4,}|_{8,})\s*")
# "From: …", in any language; Gmail writes bold as *…*.
_FIELD: Final = re.compile(r"\s*\*?[^\s:*>\d][^:*>\d]{0,24}\*?\s?[:：]\*?(?:\s|$)")
_MOMENT: Final = re.compile(r"\b\d{1,2}[:.h]\d{2}\b|\b20\d\d\b|\d{4}年")
_ENDS_ATTRIBUTION: Final = re.compile(r"[:：]\s*$|>\s*$")
_OWN_LINE: Final = re.compile(
    r"(?:sent (?:from|with|via|using|by) |get outlook for |envoyé (?:de|depuis|avec|à partir) "
    r"|télécharger outlook|obtenir outlook|obtenez outlook|von meinem .{1,40} gesendet"
    r"|gesendet (?:von|mit|über|aus) |holen sie sich outlook|outlook für .{1,20} beziehen"
    r"|diese nachricht wurde von meinem |enviado (?:desde|do|de|com|con|a partir) "
    r"|obtener outlook|obter o outlook|inviato (?:da|dal|con) |scarica outlook|ottieni outlook"
    r"|verzonden (?:vanaf|met|via|vanuit) |verstuurd (?:vanaf|met) |outlook voor .{1,20} downloaden"
    r"|wysłan[eoya]\w* (?:z|za) |pobierz outlook|отправлено (?:с|из|от) |получить outlook"
    r"|скачать outlook|发自我的|从我的|發自我的|获取 outlook|.{1,30}から送信|outlook を入手"
    r"|iphoneから|أُ?رسلت? من|تم الإرسال من|مُرسل من|الحصول على outlook"
    r"|sender notified by|virus[- ]free\.? ?(?:www\.)?av|this email was sent with )",
    re.IGNORECASE,
)
_OWN_LINE_LENGTH: Final = 160  # characters; a longer line below an answer is the person's
_ADDRESS_LINE: Final = re.compile(r"\s*[<(\[]?https?://\S+[>)\]]?\s*")
_TRACKER: Final = re.compile(r"\s*(?:mailtrack|remove)\b.{0,80}", re.IGNORECASE)
_ATTRIBUTION_LINES: Final = 3


class OwnWords(NamedTuple):
    """The words of an answer, "" for none, and whether the mail has a quotation."""

    words: str
    quotes: bool


def read(text: str, ours: Sequence[str]) -> OwnWords:
    """Return what a person wrote in a mail; `ours` are the names and addresses of our mails."""
    plain = _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " "))
    lines = [line.rstrip() for line in plain.split("\n")]
    names = [name.lower() for name in ours if name]
    lines, cut = _above_the_cut(lines, names)
    lines, quotes = _without_quotes(lines, names)
    lines = _without_signature(lines)
    words = "\n".join(line for line in lines if not _is_picture(line))
    return OwnWords(re.sub(r"\n{3,}", "\n\n", words).strip("\n"), cut or quotes)


def _above_the_cut(lines: list[str], names: Sequence[str]) -> tuple[list[str], bool]:
    """Return the lines above a mail quoted without ">", and whether there is one."""
    for number, line in enumerate(lines):
        if line.lstrip().startswith(">"):
            continue
        nearby = " ".join(lines[number : number + 2])
        found = _MARK.search(nearby)
        if found and found.start() < len(line):
            return _without_fields(lines[:number], names), True
        if _begins_fields(lines, number, names) or _begins_unmarked_quote(lines, number, names):
            return lines[:number], True
        if _SEPARATOR.fullmatch(line) and _is_followed_by_quote(lines, number + 1, names):
            return lines[:number], True
    return lines, False


def _is_followed_by_quote(lines: list[str], number: int, names: Sequence[str]) -> bool:
    """Return whether our mail follows a separator line."""
    while number < len(lines) and not lines[number]:
        number += 1
    rest = lines[number : number + 12]
    return _begins_fields(lines, number, names) or any(
        line.startswith(">") or _MARK.search(line) or _names_us(line, names) for line in rest
    )


def _begins_fields(lines: list[str], number: int, names: Sequence[str]) -> bool:
    """Return whether a block of our mail's header fields begins here, as Outlook quotes it."""
    block = lines[number : number + 8]
    length = next((n for n, line in enumerate(block) if not _FIELD.match(line)), len(block))
    return length >= 3 and any(_names_us(line, names) for line in block[:length])


def _begins_unmarked_quote(lines: list[str], number: int, names: Sequence[str]) -> bool:
    """Return whether a line introduces a quotation without ">" marks, as Yahoo writes it."""
    line = lines[number]
    if not (_ENDS_ATTRIBUTION.search(line) and _MOMENT.search(line) and _names_us(line, names)):
        return False
    below = next((each for each in lines[number + 1 : number + 5] if each.strip()), "")
    return not below.lstrip().startswith(">")


def _without_fields(lines: list[str], names: Sequence[str]) -> list[str]:
    """Return `lines` without the lines at their end that introduce a quotation."""
    end = _end(lines, len(lines))
    start = end
    while start and _FIELD.match(lines[start - 1]):
        start -= 1
    lines = lines[: start if end - start >= 3 else _attribution(lines, end, names)]
    end = _end(lines, len(lines))
    if end and _SEPARATOR.fullmatch(lines[end - 1]):
        end -= 1
    return lines[:end]


def _without_quotes(lines: list[str], names: Sequence[str]) -> tuple[list[str], bool]:
    """Return the lines that are not quoted, and whether any were."""
    kept: list[str] = []
    quotes = False
    for line in lines:
        if line.lstrip().startswith(">"):
            if not quotes:
                kept = kept[: _attribution(kept, _end(kept, len(kept)), names)]
                kept.append("")
            quotes = True
        elif quotes and not line and kept and not kept[-1]:
            continue
        else:
            kept.append(line)
    return kept, quotes


def _attribution(lines: Sequence[str], end: int, names: Sequence[str]) -> int:
    """Return the index of the attribution line before `end`; `end` if there is none."""
    if not end or not _ENDS_ATTRIBUTION.search(lines[end - 1]):
        return end
    for count in range(1, min(_ATTRIBUTION_LINES, end) + 1):
        block = lines[end - count : end]
        if not block[0]:
            return end
        text = " ".join(block)
        if text.count("<") == text.count(">") and (_MOMENT.search(text) or _names_us(text, names)):
            start = end - count
            above = lines[start - 1] if start else ""
            if not _MOMENT.search(text) and _MOMENT.search(above) and count < _ATTRIBUTION_LINES:
                start -= 1
            return start
    return end


def _without_signature(lines: list[str]) -> list[str]:
    marks = (number for number, line in enumerate(lines) if line in ("--", "-- "))
    end = _end(lines, next(marks, len(lines)))
    while end:
        last, above = lines[end - 1], lines[end - 2] if end > 1 else ""
        if _is_of_a_program(last) or _SEPARATOR.fullmatch(last):
            end -= 1
        elif _is_of_a_program(above) and (_ADDRESS_LINE.fullmatch(last) or _TRACKER.match(last)):
            end -= 2
        else:
            break
        end = _end(lines, end)
    return lines[:end]


def _is_of_a_program(line: str) -> bool:
    return len(line) <= _OWN_LINE_LENGTH and bool(_OWN_LINE.match(line.strip(" *_[(<")))


def _is_picture(line: str) -> bool:
    return bool(line) and not _PICTURE.sub("", line).strip()


def _names_us(line: str, names: Sequence[str]) -> bool:
    low = line.lower()
    return any(name in low for name in names)


def _end(lines: Sequence[str], end: int) -> int:
    """Return the index after the last non-empty line before `end`."""
    while end and not lines[end - 1].strip():
        end -= 1
    return end
