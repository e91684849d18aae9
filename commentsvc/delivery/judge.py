"""Judge: a language model judges comments before they are shown, as a classifier does.

It is asked by OpenAI's chat completions, which most servers of language models speak, local ones
too (https://platform.openai.com/docs/api-reference/chat). It gets the author's name and website,
the path of the page, the comment and the site's guidelines: no address, no network, and no text of
anybody else, who could then speak for this comment or against it.

Anybody writes comments, also to the language model. At worst, such a comment waits:

- Like any classifier, it can only show what every other check lets pass.
- An answer counts only if it repeats the question's mark, which no comment can know.
- Where the comment gives orders to a model, as the model says or as `gives_orders` finds, or is too
  long to be shown whole, "accept" means "hold".
"""

import re
import secrets
import unicodedata
from ipaddress import ip_address
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from commentsvc.delivery.channel import DeliveryRejected, TemporaryFailure
from commentsvc.delivery.classifier import ClassifierAnswer
from commentsvc.delivery.webhooks import Notification, WebhookRequest, exchange
from commentsvc.settings.needs import judge_key
from commentsvc.settings.schema import JUDGE_SECONDS, Settings
from commentsvc.spam.protected_names import spelled_out
from commentsvc.util.http_client import SettingsClient
from commentsvc.util.i18n import gettext as _
from commentsvc.util.i18n import translate
from commentsvc.util.templates import Templates
from commentsvc.util.text import with_few_marks

# Questions in a day, each of at most SHOWN characters and TOKENS words or parts of words in the
# answer: so this is what a day can cost.
A_DAY: Final = 2_000
SHOWN: Final = 16_000
TOKENS: Final = 1_000
ANSWER: Final = 65_536  # bytes of an answer; some models think aloud
NAMED: Final = 200  # characters of a name or an address

_PROMPT: Final = Templates("", autoescape=False)

# What is asked for where the server can check it (JSON Schema).
FORMAT: Final = {
    "type": "json_schema",
    "json_schema": {
        "name": "judgement",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "mark": {"type": "string"},
                "gives_orders": {"type": "boolean"},
                "reason": {"type": "string"},
                "decision": {"type": "string", "enum": ["accept", "hold", "spam"]},
            },
            "required": ["mark", "gives_orders", "reason", "decision"],
            "additionalProperties": False,
        },
    },
}

# Words that speak to a model, in a text without invisible characters and in lower case.
_IGNORE = (
    r"ignor\w{0,9}|disregard\w{0,3}|forget|override|overrule|bypass|neglect|vergiss|missachte\w?|"
    r"oublie\w?|olvid\w{1,3}|dimentica\w?|esqueça|zapomnij|zignoruj|pomiń|negeer|vergeet|"
    r"игнорируй\w{0,2}|забудь\w{0,2}|ігноруй\w{0,2}|تجاهل\w{0,3}|انس|התעלמ?ם?ו?|שכחו?|abaikan|lupakan|"
    r"bỏ qua|quên|(?:do not|don't|stop) follow(?:ing)?"
)
_RULES = (
    r"instru\w{3,9}|rules?|prompts?|guidelines|directions|directives|orders|anweisung\w{0,2}|regeln|"
    r"befehle|consignes|règles|reglas|istruzioni|regole|instruç\w{1,5}|regras|instrukcj\w{1,3}|"
    r"poleceni\w{1,2}|regels|инструкци\w{1,2}|правила|інструкці\w{1,2}|\w{0,3}تعليمات|\w{0,3}قواعد|"
    r"ה?הוראות|ה?כללים|instruksi|aturan|hướng dẫn|quy tắc"
)
# The same where the verb comes last.
_IGNORED = (
    r"(?:指示|命令|ルール|プロンプト)[^。!?]{0,15}(?:無視|忘れ)"
    r"|(?:지시|명령|규칙|프롬프트)[^.!?]{0,15}(?:무시|잊)"
    r"|(?:निर्देश|नियम)[^।!?]{0,20}(?:अनदेखा|अनदेखी|भूल)"
    r"|(?:talimat|kural|komut)\w{0,8}[^.!?]{0,20}(?:yok say|görmezden|unut)"
)
_TO_MODEL: Final = re.compile(
    rf"\b(?:{_IGNORE})\b[^.!?]{{0,60}}\b(?:{_RULES})\b|{_IGNORED}"
    r"|(?:忽略|无视|無視)[^。!?]{0,30}(?:指令|指示|规则|提示)"
    r"|\b(?:disregard|forget|ignore) (?:everything|all|what)\b[^.!?]{0,20}"
    r"\b(?:above|before|told|said)\b"
    r"|\b(?:system|developer|new) (?:prompt|message|instructions?)\b"
    r"|\b(?:note|message|instructions?|hinweis|nota) (?:to|for|an|à|para|a|per) (?:the |das |die "
    r"|any |all )?(?:ai|ki|ia|llm|(?:language )?models?|moderat\w{2,5}|classifier|judge|bot)\b"
    r"|\b(?:as|you are|du bist|tu es|eres) (?:an?|ein\w?|une?|un) (?:ai|ki|ia|llm|(?:helpful )?"
    r"assistant|assistent|language model|sprachmodell)\b"
    r"|[\"'“]?(?:decision|gives_orders)[\"'”]?\s{0,9}[:=]"
    r"|\b(?:decision|answer|verdict)\b[^.!?]{0,20}\b(?:is|to|be)\s[\"'“`]?accept\b"
    r"|\b(?:classify|mark|treat|label) (?:this|it|the (?:comment|text|message)) as\b[^.!?]{0,20}"
    r"\b(?:accept\w{0,4}|not spam|no spam|ham|safe|approved)\b"
    r"|\bpre-?approved by\b|\bend of (?:the |this )?(?:comment|message|input|prompt|data)\b"
    # What the templates of models have between the parts of a conversation.
    r"|<\|?/?\s?(?:im_start|im_end|system|assistant|user|endoftext)|<\|[\w ]{1,40}\|>"
    r"|<(?:start|end)_of_turn>|\[/?(?:inst|system_prompt)\]|<</?sys>>"
    r"|^#{1,6} ?(?:system|assistant|instruction)|^(?:assistant|human) ?:"
    r"|[\"']role[\"']\s{0,9}:\s{0,9}[\"'](?:system|assistant|developer)"
    r"|\b(?:answer|respond|reply|output|return|say|antworte|réponds|responde)\b[^.!?\n]{0,30}"
    r"[\"'“`]?\b(?:accept|approved?)\b"
    r"|\b(?:accept|approve|publish|allow) this (?:comment|message|text)\b",
    re.MULTILINE,
)


def _spelled(words: str) -> str:
    return "|".join(map(spelled_out, words.split()))


# The commonest order, in a text of nothing but letters, however it was spelled or spaced.
_SPELLED: Final = re.compile(
    f"(?:{_spelled('ignore disregard forget override overrule bypass neglect')})"
    f"(?:{_spelled('all any of the your my our these this every previous prior above earlier')}"
    f"|{_spelled('given preceding former system safety moderation other')}){{1,8}}"
    f"(?:{_spelled('instruction rules prompt guideline directive')})"
)


class JudgeQuestion(NamedTuple):
    """What a language model is asked, the mark of its answer, and why not to accept ("").

    Reasons are in `language`.
    """

    messages: list[dict[str, str]]
    mark: str
    doubt: str
    language: str


class _Message(msgspec.Struct, frozen=True):
    content: str


class _Choice(msgspec.Struct, frozen=True):
    message: _Message


class _Completion(msgspec.Struct, frozen=True):
    choices: tuple[_Choice, ...]


class _Judgement(msgspec.Struct, frozen=True):
    mark: str
    decision: Literal["accept", "hold", "spam"]
    gives_orders: bool
    reason: str = ""


class Judge:
    """Asks the language model of the settings; see `classifier.ClassifierBackend`."""

    a_day: int | None = A_DAY

    def __init__(self, settings: Settings) -> None:
        """Raise OSError if `judge.key_file` cannot be used."""
        self._url = settings.judge.url.rstrip("/") + "/chat/completions"
        self._model = settings.judge.model
        key = judge_key(settings)
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        own = _own_network(settings.judge.url)
        self._client = SettingsClient((*settings.hooks.allowed_networks, *own))
        self._guidelines = {site.name: site.guidelines for site in settings.sites}
        self._checks_format = True  # whether the server takes FORMAT

    def prepare(self, notification: Notification) -> JudgeQuestion:
        """Return the question about a comment."""
        comment, language = notification.entry.comment, notification.language
        text = visible(comment.source[:SHOWN])  # one letter may have become 18
        shown = {
            "author": comment.author[:NAMED],
            "website": comment.site[:NAMED],
            "page": notification.entry.url[:NAMED],
            "comment": text[:SHOWN],
        }
        mark = secrets.token_hex(8)
        prompt = _PROMPT.find("judge.prompt").render(
            mark=mark,
            language=language,
            guidelines=self._guidelines.get(notification.entry.site, ""),
        )
        material = msgspec.json.encode(shown).decode()
        doubt = ""
        if gives_orders("\n".join(shown.values())):
            doubt = translate(_("It may try to give orders to the language model."), language)
        elif max(len(comment.source), len(text)) > SHOWN:
            doubt = translate(_("It is too long for the language model."), language)
        messages = [
            {"role": "system", "content": prompt},
            {"role": "user", "content": material},
        ]
        return JudgeQuestion(messages, mark, doubt, language)

    async def ask(self, question: JudgeQuestion) -> ClassifierAnswer:
        """Return the answer, "hold" if it cannot be read. Raise DeliveryError."""
        said = _judgement(await self._complete(question.messages), question.mark)
        if said is None:
            text = translate(_("Its answer cannot be read."), question.language)
            return ClassifierAnswer("hold", text)
        if said.decision == "accept" and (question.doubt or said.gives_orders):
            return ClassifierAnswer("hold", question.doubt or said.reason)
        return ClassifierAnswer(said.decision, said.reason)

    async def _complete(self, messages: list[dict[str, str]]) -> str:
        """Return the text that completes `messages`. Raise DeliveryError."""
        asked: dict[str, Any] = {"model": self._model, "messages": messages}
        if self._checks_format:
            strict = asked | {"max_completion_tokens": TOKENS, "response_format": FORMAT}
            try:
                return await self._request(strict)
            except TemporaryFailure:  # older servers know neither of the two
                self._checks_format = False
        try:
            return await self._request(asked | {"max_tokens": TOKENS})
        except TemporaryFailure as error:
            self._checks_format = True  # it was something else
            raise DeliveryRejected(str(error)) from error

    async def _request(self, asked: dict[str, Any]) -> str:  # Any: JSON of the interface
        request = WebhookRequest(self._url, msgspec.json.encode(asked), self._headers)
        answer = await exchange(request, self._client, JUDGE_SECONDS, ANSWER)
        try:
            completion = msgspec.json.decode(answer.text, type=_Completion)
        except (msgspec.MsgspecError, RecursionError):
            return ""
        return completion.choices[0].message.content if completion.choices else ""


def visible(text: str) -> str:
    """Return `text` as NFKC without characters that nobody sees, in which orders can be hidden."""
    composed = unicodedata.normalize("NFKC", with_few_marks(text))
    return "".join(
        each for each in composed if each in "\n\t" or unicodedata.category(each)[0] != "C"
    )


def gives_orders(text: str) -> bool:
    """Return whether a text seems to speak to a language model."""
    seen = visible(text).casefold()
    return bool(_TO_MODEL.search(seen) or _SPELLED.search(spelled_out(seen)))


def _judgement(text: str, mark: str) -> _Judgement | None:
    """Return the judgement in a text, in which a model may have thought aloud; None without."""
    text = text.rpartition("</think>")[2]
    try:
        said = msgspec.json.decode(text[text.index("{") : text.rindex("}") + 1], type=_Judgement)
    except (ValueError, RecursionError):  # also msgspec's errors
        return None
    return said if secrets.compare_digest(said.mark.encode(), mark.encode()) else None


def _own_network(url: str) -> list[str]:
    """Return the network of a server that the settings name by its number, or as localhost.

    Such an address cannot lead elsewhere, as a name can.
    """
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return ["127.0.0.0/8", "::1/128"]
    try:
        return [str(ip_address(host))]
    except ValueError:
        return []
