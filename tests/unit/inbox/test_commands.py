"""A command or a thanks is none of the texts that are published."""

from functools import partial

import pytest

from commentsvc.inbox.commands import Meaning, Wish, meaning
from tests.unit.processor_time import assert_quick

APPROVES = Meaning("approved", Wish.NOTHING)
PUBLISHES = Meaning("", Wish.PUBLISH)
HOLDS = Meaning("", Wish.HOLD)

# In each language of our mails: ar be bg bn ca cs da de el en eo es fa fi fr gl he hi hr hu id it
# ja ko nb nl nn pl pt ro ru sk sv ta th tr uk ur vi zh, and some more.
THANKS = [
    "شكرا", "شكرا جزيلا", "Дзякуй", "Благодаря", "Moltes gràcies", "Děkuji moc", "Mange tak",
    "Vielen Dank!", "Danke schön", "Ευχαριστώ πολύ", "Thank you very much", "Dankon",
    "¡Muchas gracias!", "ممنون", "Kiitos paljon", "Oui, merci", "Merci beaucoup !", "Moitas grazas",
    "תודה רבה", "Hvala lijepa", "Köszönöm szépen", "Terima kasih banyak", "Grazie mille",
    "ありがとうございます", "どうもありがとう", "감사합니다", "Dank je wel", "Dziękuję bardzo",
    "Muito obrigado",
    "Mulțumesc mult", "Спасибо большое", "Ďakujem pekne", "Tack så mycket!", "ขอบคุณมาก",
    "Teşekkür ederim", "Дуже дякую", "Cảm ơn bạn", "谢谢", "好的，谢谢！", "謝謝", "धन्यवाद",
    "बहुत-बहुत धन्यवाद", "आपका धन्यवाद", "ठीक है", "অনেক ধন্যবাদ", "ঠিক আছে", "بہت شکریہ",
    "آپ کا شکریہ", "ٹھیک ہے",
    "جی ہاں", "மிக்க நன்றி", "சரி", "Tusen takk", "Takk skal du ha!", "Ja takk",
    "👍🏽", "🙏 thanks",
    "Thanks Ann!", "Thanks, Ann", "Danke für den Hinweis", "Thanks for this question",
    "Many thanks Ann", "Merci, Ann et Bob !", "Terima kasih Ann", "Sağ ol!", "Go ahead", "o.k.",
    "Looks good", "LGTM", "super, dzięki", "Kein Problem", "Yes, publish it", "y",
    "Approve comment", "Got it", "Bitte freischalten", "J'approuve", "Très bien",
    "Опубликуй", "Fine by me", "Looks good to me!", "This is fine", "Yes, do it", "Go for it",
    "Is goed, dank je", "Ja, graag", "Oui, c'est bon", "Tak for det", "Passt schon.", "v pořádku",
    "Ist in Ordnung", "Pode publicar", "tutto ok", "Go raibh maith agat", "承知しました", "можно",
    "Sure, go ahead", "Oké, prima",
    "ja", "Sí", "да", "yes please", "OK, thanks", "approve", "Approved.", "*ok*", "“Okay”",
]  # fmt: skip


@pytest.mark.parametrize("words", THANKS)
@pytest.mark.parametrize(
    "below",
    [
        "",
        "\n\nMax Mustermann\nMuster GmbH\n+49 30 123456\nwww.muster.example",
        "\n\nGrüße,\nMax",
        "\n\nMit freundlichen Grüßen\nMax\n\nMuster GmbH\nWeg 1\n12345 Ort\nTel. +49 30 123456\n\n"
        "Diese Nachricht ist vertraulich und nur für ihren Empfänger bestimmt.",
    ],
    ids=["alone", "with a signature", "with a greeting", "with a disclaimer"],
)
def test_a_yes_or_a_thanks_of_four_words_approves_and_is_not_published(
    words: str, below: str
) -> None:
    assert meaning(words + below) == APPROVES


@pytest.mark.parametrize(
    "words",
    ["Das ist schön, danke!", "Thank you, that is right.", "Yes, it is.\n\nCome in.",
     "Hello Ann", "Danke, erledigt.", "Спасибо, исправлено.",
     "谢谢，已经修好了。", "Many people like it", "Thanks: see our page",
     "Oui, à neuf heures", "昨日すでに直しました", "ありがたい話です", "a lot",
     "Yes, do it on Monday", "Noon\n\nThe doors open an hour before.",
     "It is no spam, I know her", "Spam filters\n\nThey are a topic of their own, and a long one.",
     "***\n\nThis is what I wanted to say since Monday, and it took me a while."],
)  # fmt: skip
def test_other_words_are_an_answer(words: str) -> None:
    assert meaning(words) == PUBLISHES


@pytest.mark.parametrize(
    "word",
    ["Short.", "Hello", "Okapi", "你好", "Noon", "42", "Why?", "<3", "¡Ándale!", "Labas", "Хөш",
     "bəli", "ია", "ওকে", "좋네요", "了解いたした"],
)  # fmt: skip
def test_one_word_that_is_not_known_is_neither_published_nor_a_yes(word: str) -> None:
    """Nobody knows the words for yes and no of all languages."""
    for below in ("", "\n\nMax\nMuster GmbH\n+49 30 123456"):
        assert meaning(word + below) == HOLDS


@pytest.mark.parametrize(
    ("words", "status"),
    [("ok", "approved"), ("", "approved"), ("NO", "deleted"), ("delete!", "deleted"),
     ("Spam", "spam"), ("sp", "spam")],
)  # fmt: skip
def test_a_command_is_judged_by_the_first_line(words: str, status: str) -> None:
    assert meaning(words) == Meaning(status, Wish.NOTHING)
    if words:
        assert meaning(f"{words}\n\nMax\nMuster GmbH") == Meaning(status, Wish.NOTHING)
    if words and words != "NO":
        long = f"{words}\n\nThis line of some program is not known to anybody here.\nA b c d e f."
        assert meaning(long) == Meaning(status, Wish.NOTHING)


@pytest.mark.parametrize(
    "words",
    ["Nei takk", "नहीं", "हटाएँ", "না", "মুছুন", "نہیں", "حذف کریں", "வேண்டாம்", "நீக்கு",
     "Nein", "non merci", "No, thanks", "удалить", "删除", "👎", "No.\n\nWe never open on Sundays.",
     "No\n\nbecause it is closed", "n", "This is spam", "mark as spam", "Remove me", "Bórralo!",
     "supprimez", "ta bort", "спам", "スパム", "unsubscribe", "STOP", "ok?", "Yes?", "+1", "-1",
     ":)", "…", "?", "This is spam\n\nMax\nMuster GmbH\nwww.muster.example",
     "Thanks!\n\nI am away until Monday, and will answer then."],
)  # fmt: skip
def test_what_may_be_a_command_or_an_answer_is_left_to_its_sender(words: str) -> None:
    assert meaning(words) == HOLDS


@pytest.mark.parametrize(
    "words",
    ["not ok", "Not okay!", "don't approve", "Don’t publish", "do not publish this",
     "I do not approve", "please don't approve", "nicht freigeben", "Bitte nicht veröffentlichen",
     "ne pas publier", "pas d'accord", "no aprobar", "non approvare", "niet goedgekeurd",
     "не публиковать, не согласен", "nie zatwierdzaj, nie zgoda", "não aprovar", "不同意",
     "不 同意", "ok boss", "no way", "ok?!", "delete it", "spam again"],
)  # fmt: skip
def test_a_no_with_a_yes_in_it_approves_and_publishes_nothing(words: str) -> None:
    for below in ("", "\n\nMax\nMuster GmbH\n+49 30 123456"):
        assert meaning(words + below) == HOLDS


def test_no_words_take_long() -> None:
    for words in (
        "谢" * 20_000,
        "谢谢" * 9_000 + "x",
        "ok\n" * 9_000,
        "a " * 20_000,
        "👍" * 20_000,
    ):
        assert_quick(partial(meaning, words), 100)
