"""Mails that no person wrote are known by their fields and subjects, and those of people too."""

from email.parser import BytesHeaderParser

import pytest

from commentsvc.inbox import automatic

PERSON = {"From": "Ann <ann@mail.example>", "Subject": "Re: hi", "In-Reply-To": "<1@b.example>"}


def reason(**headers: str) -> str:
    given = PERSON | {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\n" for name, value in given.items())
    return automatic.reason(BytesHeaderParser().parsebytes(lines.encode()))


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto-Submitted": "auto-replied"},
        {"Auto-Submitted": "auto-generated; owner=x"},
        {"Precedence": "bulk"},
        {"Precedence": "Auto_Reply"},
        {"X-Auto-Response-Suppress": "DR, OOF, AutoReply"},
        {"Return-Path": "<>"},
        {"List-Id": "<list.example>"},
        {"List-Unsubscribe": "<https://list.example/>"},
        {"X-Autoreply": "yes"},
        {"X-Autorespond": "hi"},
        {"X-Loop": "comments@blog.example"},
        {"X-Failed-Recipients": "comments@blog.example"},
        {"Content-Type": "multipart/report; report-type=delivery-status"},
        {"Content-Type": "message/disposition-notification"},
        {"From": "MAILER-DAEMON@mail.example"},
        {"From": "Mail Delivery <postmaster@mail.example>"},
        {"From": "no-reply@mail.example"},
        {"From": ""},
    ],
    ids=str,
)
def test_what_a_program_sends_is_automatic(headers: dict[str, str]) -> None:
    assert reason(**headers)


# As Exchange and Outlook begin it in their languages, and other programs.
SUBJECTS = [
    "Automatic reply: hi", "[Auto-Reply] Re: hi", "(Out of office) Re: hi", "Auto-Response: hi",
    "Out of Office: hi", "Out of office", "AutoReply: hi", "Auto: hi",
    "Automatische Antwort: hi", "Abwesenheitsnotiz: hi", "Réponse automatique : hi",
    "Absence : hi", "Respuesta automática: hi", "Fuera de la oficina: hi",
    "Risposta automatica: hi", "Fuori sede: hi", "Automatisch antwoord: hi", "Autosvar: hi",
    "Automatisk svar: hi", "Automatiskt svar: hi", "Automaattinen vastaus: hi",
    "Resposta automática: hi", "Resposta automàtica: hi", "Odpowiedź automatyczna: hi",
    "Automatická odpověď: hi", "Automatická odpoveď: hi", "Automatikus válasz: hi",
    "Răspuns automat: hi", "Automatski odgovor: hi", "Автоматический ответ: hi", "Автоответ: hi",
    "Автоматична відповідь: hi", "Аўтаматычны адказ: hi", "Автоматичен отговор: hi",
    "Αυτόματη απάντηση: hi", "Otomatik Yanıt: hi", "رد تلقائي: hi", "پاسخ خودکار: hi",
    "תשובה אוטומטית: hi", "स्वचालित उत्तर: hi", "ตอบกลับอัตโนมัติ: hi", "Trả lời tự động: hi",
    "Balasan otomatis: hi", "自动回复: hi", "自动答复：hi", "自動回覆: hi", "自動応答: hi",
    "自動返信: hi", "자동 회신: hi", "[EXT] Automatic reply: hi", "Aŭtomata respondo: hi",
]  # fmt: skip


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_subject_of_an_answering_machine_is_known_in_many_languages(subject: str) -> None:
    assert reason(Subject=subject)


@pytest.mark.parametrize(
    "headers",
    [
        {"Feedback-ID": "i0000000a:Fastmail"},
        {"Feedback-ID": "10000001:user:proton"},
        {"Feedback-ID": "1.eu-west-1.abc=:AmazonSES"},
        {"Auto-Submitted": "no"},
        {"Precedence": "normal"},
        {"Return-Path": "<ann@mail.example>"},
        {"X-Auto-Response-Suppress": "None"},
        {"X-Mailer": "bulk list"},
        {"From": "Noreen Reply <noreen.reply@mail.example>"},
        {"Subject": "Re: Out of Office: a poem"},
        {"Subject": "Absences of mine"},
        {"Subject": "Autosvariant"},
    ],
    ids=str,
)
def test_what_a_person_sends_is_not(headers: dict[str, str]) -> None:
    assert reason(**headers) == ""


@pytest.mark.parametrize(
    "words",
    ["Thank you. I'm currently on vacation.", "Hi,\n\nI will reply upon my return.",
     "This address is no longer in use.", "Ich bin ab Montag wieder erreichbar.",
     "Bonjour, je suis en vacances.", "Estoy fuera hasta el lunes.", "Sarò fuori fino a lunedì.",
     "Do poniedziałku przebywam na urlopie.", "我正在休假，将于1月5日回来。",
     "现在外出，回来后回复您。",
     "您好，您的邮件已收到。", "1月5日まで休暇をいただいております。", "1월 5일까지 휴가입니다.",
     "ฉันลาพักร้อนถึงวันจันทร์", "Hi, I'm OOO until Monday.", "I will be out until 1 December.",
     "I am on PTO.", "Thanks for contacting us. Please do not reply.", "I no longer work here.",
     "Your request has been received: a ticket has been created.", "Delivery has failed to:",
     "Ihre Nachricht ist bei uns eingegangen.", "Ich befinde mich bis 5. Januar im Urlaub.",
     "Je suis indisponible jusqu'à lundi.", "Votre message a bien été reçu.",
     "Hemos recibido su mensaje.", "Actualmente me encuentro fuera.", "Estou em férias até lunes.",
     "Risponderemo al più presto.", "Ik ben met verlof.", "Odpowiemy najszybciej jak to możliwe.",
     "Děkujeme za Vaši zprávu.", "Jag är på tjänsteresa.", "Olen vuosilomalla.",
     "Спасибо за ваше обращение.", "Меня не будет в офисе.", "Дякуємо за звернення.",
     "En kısa sürede dönüş yapılacaktır.", "来信已收到，我会尽快回复。", "出張中のため遅れます。",
     "تم استلام رسالتك", "תודה על פנייתך", "Köszönjük üzenetét."],
)  # fmt: skip
def test_the_text_of_an_answering_machine_is_known_in_many_languages(words: str) -> None:
    assert automatic.may_be_of_machine(words)


@pytest.mark.parametrize(
    "words",
    ["I was on vacation, so sorry for the late answer.", "That is on page 5.", "我休息了。",
     "Im Urlaub lese ich mehr.", "I was out until ten.", "We closed the ticket.",
     "The holiday was long, and the weather good."],
)  # fmt: skip
def test_the_words_of_a_person_are_not_those_of_a_machine(words: str) -> None:
    assert not automatic.may_be_of_machine(words)
