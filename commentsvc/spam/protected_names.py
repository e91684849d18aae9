"""Protected names: comments under a moderator's name, or one that looks like it, wait.

A comment with such a name or address waits for a moderator, whatever the policy; its author may
really have that name. The names are those of the accounts and of the settings. They are few and
every submission needs them, so they are kept in memory; they are updated as in `spam.bans`.

Two texts look alike if their skeletons are equal (after UTS #39, section 4): letters that look
alike become one letter; case, marks and everything except letters and digits are removed. For names
such as "Ann (owner)" and "Ann | Owner", each part is compared too, and for "The Ann", "Ann Team"
and "Ann 2" also what is left without `ROLE_WORDS` and numbers. Signs and digits that people write
for letters ("Ro$e") are read as these, too, and names with the last name first ("Miller, Ann").
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from string import ascii_lowercase
from typing import Final

from commentsvc.comments.submission import avatar
from commentsvc.db.connection import Snapshot
from commentsvc.db.schema.comments import ModeratorTable
from commentsvc.model import MODERATORS_TAG, is_purged
from commentsvc.settings.schema import Settings
from commentsvc.spam.score import Signal
from commentsvc.util.origin import address_key
from commentsvc.util.text import one_line

# Cached names, and texts that are not ASCII: looking at one takes 3 to 16 µs.
REMEMBERED: Final = 1_024

# The skeleton of ASCII: i, l, 1 and | look alike, and o and 0; other punctuation is removed.
_ASCII: Final = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZi1|0", b"abcdefghljklmnopqrstuvwxyzlllo"
)
_SIGNS: Final = bytes(code for code in range(128) if not chr(code).isalnum() and code != ord("|"))
# What separates the parts of a name, but not within names such as Jean-Luc or O'Neil.
_SEPARATOR: Final = re.compile(r"[^\w\s'’.-]+|\s-+\s|--+")
# What joins two words within a part.
_JOINT: Final = re.compile(r"[\s_.-]+|['’]s\b|\b[ldLD]['’]")
# Signs and digits that people write for letters.
_SIGN_LETTERS: Final = str.maketrans("@$€£!+34578", "asellteastb")
# What may stand between such a word and a name: "Team of Ann".
_LINKS: Final = frozenset(("of", "by", "de", "del", "di", "du", "da", "do", "von", "van"))
# Letters that show nothing.
_FILLERS: Final = dict.fromkeys(map(ord, "\u115f\u1160\u17b4\u17b5\u3164\uffa0"))
# Letters whose names in Unicode say which letter they look like: with a stroke, turned, as a rune.
_LETTER: Final = re.compile(
    r"(?:LATIN LETTER SMALL CAPITAL|REGIONAL INDICATOR SYMBOL LETTER"
    r"|NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER"
    r"|LATIN (?:CAPITAL|SMALL) LETTER(?: (?:BARRED|DOTLESS|EGYPTOLOGICAL|REVERSED|SCRIPT|TURNED))*"
    r"|RUNIC LETTER(?: [A-Z-]+)*) ([A-Z])(?: WITH .*)?"
)
_LETTER_BLOCKS: Final = (
    *((0x80, 0x2B0), (0x16A0, 0x16F0), (0x1D00, 0x1DC0), (0x1E00, 0x1F00), (0x2C60, 0x2C80)),
    *((0xA720, 0xA800), (0xAB30, 0xAB70), (0x10780, 0x107C0), (0x1DF00, 0x1E000)),
    (0x1F150, 0x1F200),
)
# Letters from the given one on, and what they look or sound like; "?" is none. Unicode's table does
# not have them: outlined letters and digits, the Gothic, Old Italic and Coptic alphabets.
_ROWS: Final = (
    (0x14A, "nn"),
    (0x1A7, "ss"),
    (0x1CCD6, "abcdefghijklmnopqrstuvwxyz0123456789"),
    (0x10330, "abgdeqzhpiklmnjup?rstwfxoo"),
    (0x10300, "abcdevzhoiklmnsopmqrstuxfxfrcius"),
    (0x2C80, "".join(2 * letter for letter in "abrde?zhoiklmn?onpctyoxyw")),
)
# The same letters where they look like one letter and sound like another.
_OTHERWISE: Final = {
    "\U00010332\U00010335\U0001033e\U0001033f\U00010340\U00010345": "rugnny",
    "\u043f\u041f\u0438\u0418": "nnnn",
    "\u2ca2\u2ca3\u2ca4\u2ca5\u2ca0\u2ca1\u2ca8\u2ca9": "rrssppuu",
    "\U00010305\U00010306\U00010316\U0001031a\U0001031e": "fiv8v",
}
# Alphabets of programs that write a name in foreign letters, from A to Z.
_FANCY: Final = (
    "卂乃匚刀乇下厶卄工丁长乚从ん口尸㔿尺丂丅凵リ山乂丫乙",
    "卂乃匚ᗪ乇千Ꮆ卄丨ﾌҜㄥ爪几ㄖ卩Ɋ尺丂ㄒㄩᐯ山乂ㄚ乙",
    "₳฿₵ĐɆ₣₲ⱧłJ₭Ⱡ₥₦Ø₱QⱤ₴₮ɄV₩ӾɎⱫ",
    "ᗩᗷᑕᗪEᖴGᕼIᒍKᒪᗰᑎOᑭᑫᖇᔕTᑌᐯᗯ᙭Yᘔ",
    "ค๒ς๔єŦﻮђเןкɭ๓ภ๏קợгรՇยשฬאץչ",
    "ልጌርዕቿቻኗዘጎጋጕረጠክዐየዒዪነፕሁሀሠሸሃጊ",
    "ꍏꌃꉓꀸꍟꎇꁅꃅꀤꀭꀘ꒒ꂵꈤꂦꉣꆰꋪꌗ꓄ꀎꃴꅏꊼꌩꁴ",
    "ꋬꃳꉔꂟꏂꊰꁍꀍꀤꀭꀘ꒒ꂵꋊꂦꉣꆰꋪꌚ꓄ꀎꃴꅐꉧꌩꁴ",
    "ΛBᄃDΣFGΉIJKᄂMПӨPQЯƧTЦVЩXYZ",
)
# What somebody adds to a name to seem to be that person: articles, roles and "official".
ROLE_WORDS: Final = frozenset(
    """
    the der die das el il le mr mrs ms miss dr prof herr frau
    admin admins administrator administrador administrateur
    amministratore administratorin beheerder admina
    mod mods moderator moderatorin moderador moderateur moderatore moderatora
    owner webmaster eigentumer eigentumerin inhaber inhaberin propietario propietaria proprietaire
    proprietario proprietaria eigenaar wlasciciel
    author autor autorin autora auteur autore autrice auteure writer blogger editor
    redaktion redakteur redactie redaccion redaction redazione redakcja redacao
    team equipo equipe squadra equipa zespol crew staff support
    assistant assistentin asistente bot account konto
    official offiziell oficial officiel officielle ufficiale officieel oficjalny oficjalna
    real echt verified verifiziert verificado verifie verificato
    админ администратор модератор автор владелец команда редакция официальный официально
    адмін адміністратор власник официальная
    المدير المشرف الكاتب المالك فريق الفريق الرسمي
    管理员 管理員 版主 作者 博主 站长 站長 官方 团队 團隊 本人
    管理人 管理者 公式 著者 運営 チーム
    """.split()  # noqa: SIM905 - a list of words for people
)
# Longer ones are also recognised without a space: AnnOfficial.
_JOINED: Final = 4  # ASCII letters
_REST: Final = 2  # letters of a name that are left then


def name_skeletons(name: str) -> tuple[str, ...]:
    """Return the skeletons of a name and of its parts."""
    return tuple(each for part in _parts(name) for each in skeletons(part))


@lru_cache(REMEMBERED)
def imitated(name: str) -> tuple[str, ...]:
    """Return the skeletons of a name and of its parts, with ROLE_WORDS and without."""
    parts = _parts(name)
    if (spelled := name.translate(_SIGN_LETTERS)) != name:
        parts += _parts(spelled)
    found = [each for part in parts for each in skeletons(part)]
    for part in parts:
        found += _without_roles(part)
        words = part.replace(",", " ").split()
        if len(words) > 1:
            found += skeletons(" ".join((words[-1], *words[:-1])))
            found += skeletons(" ".join((*words[1:], words[0])))
    return tuple(found)


def _parts(name: str) -> list[str]:
    if name.replace(" ", "").isalnum() or not _SEPARATOR.search(name):
        return [name]
    return [name, *(part for part in _SEPARATOR.split(name) if part.strip())]


def _without_roles(part: str) -> list[str]:
    """Return the skeletons of a part of a name without ROLE_WORDS around it, if it has some.

    Every name that is not cached comes here, so the usual case, one without them, is the quickest.
    """
    found: list[str] = []
    words = _JOINT.split(part)
    if len(words) > 1:
        words = [word for word in words if word]
        first, last = 0, len(words)
        while first < last and (_is_role(words[first]) or (first and words[first] in _LINKS)):
            first += 1
        while first < last and _is_role(words[last - 1]):
            last -= 1
        if 0 < last - first < len(words):
            found += skeletons(" ".join(words[first:last]))
    affixes = _role_affixes(part.isascii())
    for each in skeletons(part):
        if words and (each.startswith(affixes) or each.endswith(affixes)):
            begin, end = (max(map(len, skeletons(words[n]))) for n in (0, -1))
            for word in affixes:
                if each.startswith(word) and len(word) < begin:
                    found.append(each.removeprefix(word))
                if each.endswith(word) and len(word) < end:
                    found.append(each.removesuffix(word))
    return [each for each in found if len(each) >= _REST]


def _is_role(word: str) -> bool:
    if word.isdigit():
        return True
    known = _role_skeletons(word.isascii())
    return any(each in known for each in skeletons(word))


@cache
def _role_skeletons(is_ascii: bool) -> frozenset[str]:
    """Return the skeletons of ROLE_WORDS; for an ASCII word those of ASCII words suffice."""
    words = [word for word in ROLE_WORDS if word.isascii() or not is_ascii]
    return frozenset(each for word in words for each in skeletons(word))


@cache
def _role_affixes(is_ascii: bool) -> tuple[str, ...]:
    """Return the skeletons that may stand before and after a name without a space, longest first.

    Other scripts than ours have shorter words.
    """
    words = [
        word
        for word in ROLE_WORDS
        if (len(word) >= _JOINED if word.isascii() else not is_ascii and len(word) >= _REST)
    ]
    found = {each for word in words for each in skeletons(word)}
    return tuple(sorted(found, key=len, reverse=True))


def skeletons(text: str) -> tuple[str, ...]:
    """Return the skeletons of `text`: two texts with a common skeleton look alike."""
    if text.isascii():
        return (_ascii_skeleton(text) or text,)
    return _skeletons(text)


class ProtectedNames:
    """The protected names and addresses in memory, for the check of submissions."""

    def __init__(self, settings: Settings) -> None:
        """Take the names of the settings; `load` adds those of the accounts."""
        self.take(settings)
        self._names: dict[str, str] = {}  # a protected text by its skeletons
        self._avatars: frozenset[str] = frozenset()

    def take(self, settings: Settings) -> None:
        """Take the names of other settings."""
        self._given = (*settings.moderation.protected_names, *settings.mail.moderators)
        self._stale = True

    def forget(self, tags: Sequence[str]) -> None:
        """Mark the names as stale if `tags` mean MODERATORS_TAG; any thread may call this."""
        if is_purged(MODERATORS_TAG, tags):
            self._stale = True

    def is_current(self) -> bool:
        """Return whether `load` is not needed."""
        return not self._stale

    def load(self, snapshot: Snapshot) -> None:
        """Load the names and addresses of the accounts."""
        self._stale = False  # before the read, so that a change during it makes them stale again
        rows = snapshot.query(
            ModeratorTable.select(
                ModeratorTable.name, ModeratorTable.public_name, ModeratorTable.email
            )
        )
        texts = [text for row in rows for text in row if text]
        texts += self._given
        texts += [address_key(text) for text in texts if "@" in text]
        self._names = {each: text for text in reversed(texts) for each in skeletons(text)}
        self._avatars = frozenset(avatar(text) for text in texts if "@" in text)

    def check(self, author: str, email: str, avatar: str) -> Signal | None:
        """Return a signal if an author is protected; `avatar` is the digest of an address."""
        names = self._names
        if not names:
            return None
        for skeleton in imitated(author):
            if skeleton in names:
                return Signal(0, "protected-name", one_line(names[skeleton]))
        if avatar in self._avatars or any(
            skeleton in names
            for each in {email, address_key(email)}
            for skeleton in skeletons(each)
        ):
            return Signal(0, "protected-address")
        return None


def spelled_out(text: str) -> str:
    """Return the skeleton of a long `text`, in which signs and digits for letters are read, too."""
    text = text.translate(_SIGN_LETTERS)
    return _ascii_skeleton(text) if text.isascii() else _skeleton(text)


def _ascii_skeleton(text: str) -> str:
    letters = text.encode().translate(_ASCII, _SIGNS)
    return letters.replace(b"rn", b"m").replace(b"vv", b"w").decode()


@lru_cache(REMEMBERED)
def _skeletons(text: str) -> tuple[str, ...]:
    """Return the skeletons of upper and lower case, since these may look like different letters."""
    plain = unicodedata.normalize("NFKC", text).translate(_FILLERS)
    other = plain.translate(_otherwise())
    forms = {plain.casefold(), plain, other}
    return tuple({_skeleton(each) or text for each in forms})


def _skeleton(text: str) -> str:
    for _ in range(2):  # a look-alike may be in upper case
        text = unicodedata.normalize("NFD", text).translate(_prototypes()).casefold()
    text = unicodedata.normalize("NFD", text)
    return _ascii_skeleton("".join(letter for letter in text if letter.isalnum() or letter == "|"))


@cache
def _prototypes() -> dict[int, str]:
    """Return a map from each letter that is not ASCII to the letter that it looks like.

    The table has 1 MB and is rarely needed, so it is read at the first use.
    """
    from confusable_homoglyphs import confusables  # type: ignore[import-untyped]  # it has none

    found: dict[int, str] = {}
    for text, others in confusables.confusables_data.items():
        # The prototype is listed with all its look-alikes, each of these with the prototype alone.
        alike = sorted({text, *(other["c"] for other in others)}, key=_simplicity)
        for letter in alike:
            letter = letter.strip("\u200e\u200f")
            if len(letter) == 1 and not letter.isascii():
                found.setdefault(ord(letter), alike[0])
    found.update(_named_letters())
    for first, letters in _ROWS:
        found.update((first + n, letter) for n, letter in enumerate(letters) if letter != "?")
    for alphabet in _FANCY:
        for letter, meant in zip(alphabet, ascii_lowercase, strict=True):
            known = found.get(ord(letter), "?")
            if not letter.isascii() and not (known.isascii() and known.isalnum()):
                found[ord(letter)] = meant
    return found


def _named_letters() -> Iterator[tuple[int, str]]:
    """Yield letters whose Unicode name has an ASCII letter, by their number, with that letter."""
    for first, last in _LETTER_BLOCKS:
        for code in range(first, last):
            if named := _LETTER.fullmatch(unicodedata.name(chr(code), "")):
                yield code, named[1].lower()


@cache
def _otherwise() -> dict[int, str]:
    return {ord(a): b for row, meant in _OTHERWISE.items() for a, b in zip(row, meant, strict=True)}


def _simplicity(text: str) -> tuple[bool, int, str]:
    return (not text.isascii(), len(text), text)
