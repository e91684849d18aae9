"""The new text is found in replies of all common mail programs."""

import os
from collections import Counter
from dataclasses import replace
from typing import Final

import pytest

from commentsvc.auth.reply_addresses import MODERATE, ReplyAddresses
from commentsvc.inbox.message import MailReader
from commentsvc.settings.schema import MailSettings, ServerSettings, Settings, Site
from tests.unit.inbox.mail_programs import LANGUAGES, PROGRAMS, Original, answers

# Set MAILS=10000 to measure it thoroughly; docs/mail.md has the command.
COUNT: Final = int(os.environ.get("MAILS", "156"))

SETTINGS: Final = Settings(
    server=ServerSettings(public_url="https://c.example/comments/"),
    mail=MailSettings(sender="comments@blog.example"),
    sites=(Site(title="A blog"),),
)
ADDRESSES: Final = ReplyAddresses([b"key" * 16], "comments@blog.example")
ORIGINAL: Final = Original(
    name="A blog",
    sender="comments@blog.example",
    reply_to=ADDRESSES.make(MODERATE, 7, 9, "mo@blog.example", 1_800_000_000_000),
    message_id="<submitted.9.1@blog.example>",
    subject="Ann commented on “A walk”",
    text=(
        "##- Write your answer above this line -##\n\nAnn commented on “A walk”\n\n> Hello *you*\n"
        "> --\n> spam no ok\n\nIt is waiting for approval.\n\nApprove:\nhttps://c.example/mail/x\n"
        "\n-- \nEach link opens a page.\n"
    ),
    html=(
        "<p>##- Write your answer above this line -##</p><h1>Ann commented on “A walk”</h1>"
        '<div class="quote"><p>Hello <em>you</em></p><blockquote>no</blockquote></div>'
        '<p>It is waiting.</p><p><a href="https://c.example/mail/x">Approve</a></p>'
    ),
)


WITHOUT_MARK: Final = replace(
    ORIGINAL, text=ORIGINAL.text.split("\n", 2)[2], html=ORIGINAL.html.split("</p>", 1)[1]
)


@pytest.mark.parametrize("original", [ORIGINAL, WITHOUT_MARK])
def test_answers_of_all_programs_are_read_as_they_were_typed(original: Original) -> None:
    reader = MailReader(ADDRESSES, SETTINGS)
    wrong, seen = [], Counter[str]()
    for answer in answers(original, COUNT):
        found = reader.read(answer.raw)
        seen[f"{answer.program} {answer.language}"] += 1
        if tidy(found.words) != tidy(answer.words) or found.comment_id != 7:
            wrong.append((answer.program, answer.language, answer.words, found.words))
    print(f"{COUNT - len(wrong)} of {COUNT} mails are read right")
    assert not wrong, wrong[:3]
    assert len(seen) == min(COUNT, len(PROGRAMS) * len(LANGUAGES))


def tidy(words: str) -> list[str]:
    """Return the lines that are not empty: HTML does not say how many empty ones there were."""
    return [line.strip() for line in words.split("\n") if line.strip()]
