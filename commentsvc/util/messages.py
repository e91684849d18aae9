"""Faults: what the service refuses, told in the language of the page that the reader wrote on.

What readers can cause stands here by a code, in English and the widget's other languages;
what only a programmer can is said where it is found, in English. Unlike the widget's words these
are not sent with each page: most readers never see one.
"""

from collections.abc import Mapping
from typing import Final, Self

from commentsvc.util.languages import ENGLISH


class Fault(str):
    """A fault told in English, which remembers what it says, so that `told` can say it anew."""

    __slots__ = ("code", "numbers")

    code: str
    numbers: tuple[int, ...]

    def __new__(cls, code: str, *numbers: int) -> Self:
        """Take a code of those below, and the numbers for each ``{}`` of its texts."""
        fault = super().__new__(cls, sentence(code, ENGLISH, *numbers))
        fault.code, fault.numbers = code, numbers
        return fault


def told(text: str, language: str) -> str:
    """Give `text` in a language, named by its tag, where it is a Fault; all else as it is.

    >>> told(Fault("too_long", 81, 80), "de")
    'Das sind 81 Zeichen; höchstens 80 sind möglich.'
    """
    return sentence(text.code, language, *text.numbers) if isinstance(text, Fault) else text


def sentence(code: str, language: str, *numbers: int) -> str:
    """Give the sentence of that code in a language, in English where we do not speak it."""
    texts = _TEXTS[code]
    return texts.get(language, texts[ENGLISH]).format(*numbers)


_TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    "no_author": {
        "en": "Please enter a name.",
        "ar": "يرجى كتابة اسم.",
        "de": "Bitte gib einen Namen an.",
        "es": "Escribe un nombre, por favor.",
        "fr": "Veuillez indiquer un nom.",
        "it": "Per favore inserisci un nome.",
        "ja": "名前を入力してください。",
        "nl": "Vul een naam in.",
        "pl": "Podaj imię.",
        "pt": "Por favor, informe um nome.",
        "ru": "Укажите, пожалуйста, имя.",
        "zh": "请填写名字。",
    },
    "no_message": {
        "en": "Please write a comment.",
        "ar": "يرجى كتابة تعليق.",
        "de": "Bitte schreibe einen Kommentar.",
        "es": "Escribe un comentario, por favor.",
        "fr": "Veuillez écrire un commentaire.",
        "it": "Per favore scrivi un commento.",
        "ja": "コメントを入力してください。",
        "nl": "Schrijf een reactie.",
        "pl": "Napisz komentarz.",
        "pt": "Por favor, escreva um comentário.",
        "ru": "Напишите, пожалуйста, комментарий.",
        "zh": "请填写评论。",
    },
    "too_long": {
        "en": "This has {} characters; at most {} are allowed.",
        "ar": "عدد الأحرف هنا {} والحد الأقصى {}.",
        "de": "Das sind {} Zeichen; höchstens {} sind möglich.",
        "es": "Tiene {} caracteres; se permiten {} como máximo.",
        "fr": "Il y a {} caractères ; {} au plus sont permis.",
        "it": "I caratteri sono {}; al massimo ne sono ammessi {}.",
        "ja": "{}文字あります。{}文字までにしてください。",
        "nl": "Dit zijn {} tekens; er zijn er hoogstens {} toegestaan.",
        "pl": "Liczba znaków: {}; dozwolone jest najwyżej {}.",
        "pt": "Tem {} caracteres; são permitidos {} no máximo.",
        "ru": "Символов: {}; разрешено не больше {}.",
        "zh": "这里有 {} 个字符，最多允许 {} 个。",
    },
    "bad_email": {
        "en": "This is not an e-mail address. Please correct it, or leave it empty.",
        "ar": "هذا ليس عنوان بريد إلكتروني. يرجى تصحيحه أو ترك الحقل فارغًا.",
        "de": "Das ist keine E-Mail-Adresse. Bitte berichtige sie, oder lass sie weg.",
        "es": "No es una dirección de correo. Corrígela o deja el campo vacío, por favor.",
        "fr": "Ce n’est pas une adresse e-mail. Veuillez la corriger ou laisser le champ vide.",
        "it": "Questo non è un indirizzo e-mail. Correggilo o lascia il campo vuoto.",
        "ja": "メールアドレスではありません。直すか、空欄にしてください。",
        "nl": "Dit is geen e-mailadres. Verbeter het of laat het veld leeg.",
        "pl": "To nie jest adres e-mail. Popraw go albo zostaw puste pole.",
        "pt": "Isto não é um endereço de e-mail. Por favor, corrija-o ou deixe o campo vazio.",
        "ru": "Это не адрес почты. Исправьте его, пожалуйста, или оставьте поле пустым.",
        "zh": "这不是电子邮件地址。请更正，或将其留空。",
    },
    "no_email": {
        "en": "To be told of answers by mail, please enter your address.",
        "ar": "لتصلك الردود بالبريد، يرجى كتابة عنوانك.",
        "de": "Damit du Antworten per E-Mail bekommst, gib bitte deine Adresse an.",
        "es": "Para recibir las respuestas por correo, indica tu dirección.",
        "fr": "Pour recevoir les réponses par e-mail, veuillez indiquer votre adresse.",
        "it": "Per ricevere le risposte via e-mail, indica il tuo indirizzo.",
        "ja": "返信をメールで受け取るには、アドレスを入力してください。",
        "nl": "Vul je adres in om antwoorden per e-mail te krijgen.",
        "pl": "Aby otrzymywać odpowiedzi e-mailem, podaj swój adres.",
        "pt": "Para receber as respostas por e-mail, informe seu endereço.",
        "ru": "Чтобы получать ответы по почте, укажите свой адрес.",
        "zh": "如需通过邮件接收回复，请填写您的地址。",
    },
    "bad_site": {
        "en": "A web site must begin with http:// or https:// and have no spaces and at most {}"
        " characters. Please correct it, or leave it empty.",
        "ar": "يبدأ عنوان الموقع بـ http://\u200e أو https://\u200e دون مسافات، وبحد أقصى {} حرف.",
        "de": "Eine Website beginnt mit http:// oder https:// und hat keine Leerzeichen und"
        " höchstens {} Zeichen. Bitte berichtige sie, oder lass sie weg.",
        "es": "Un sitio web empieza por http:// o https:// y tiene, sin espacios, {} caracteres"
        " como máximo. Corrígelo o deja el campo vacío, por favor.",
        "fr": "Un site web commence par http:// ou https:// et a, sans espaces, {} caractères au"
        " plus. Veuillez le corriger ou laisser le champ vide.",
        "it": "Un sito web comincia con http:// o https:// e ha, senza spazi, al massimo {}"
        " caratteri. Correggilo o lascia il campo vuoto.",
        "ja": "ウェブサイトは http:// か https:// で始まる、空白のない{}文字までのものです。"
        "直すか、空欄にしてください。",
        "nl": "Een website begint met http:// of https:// en heeft geen spaties en hoogstens {}"
        " tekens. Verbeter het of laat het veld leeg.",
        "pl": "Adres strony zaczyna się od http:// lub https://, nie ma spacji i ma najwyżej {}"
        " znaków. Popraw go albo zostaw puste pole.",
        "pt": "Um site começa por http:// ou https:// e tem, sem espaços, {} caracteres no máximo."
        " Por favor, corrija-o ou deixe o campo vazio.",
        "ru": "Адрес сайта начинается с http:// или https://, в нём нет пробелов и не больше {}"
        " символов. Исправьте его, пожалуйста, или оставьте поле пустым.",
        "zh": "网站须以 http:// 或 https:// 开头，不含空格，最多 {} 个字符。请更正，或将其留空。",
    },
    "unknown_parent": {
        "en": "The comment that you answer to is not on this page (any more).",
        "ar": "التعليق الذي ترد عليه لم يعد في هذه الصفحة.",
        "de": "Der Kommentar, auf den du antwortest, steht nicht (mehr) auf dieser Seite.",
        "es": "El comentario al que respondes no está (o ya no está) en esta página.",
        "fr": "Le commentaire auquel vous répondez n’est pas (ou plus) sur cette page.",
        "it": "Il commento a cui rispondi non è (più) in questa pagina.",
        "ja": "返信先のコメントは、このページにはもうありません。",
        "nl": "De reactie waarop je antwoordt staat niet (meer) op deze pagina.",
        "pl": "Komentarza, na który odpowiadasz, nie ma (już) na tej stronie.",
        "pt": "O comentário que você responde não está (mais) nesta página.",
        "ru": "Комментария, на который вы отвечаете, на этой странице (больше) нет.",
        "zh": "您回复的评论已不在此页面上。",
    },
    "closed": {
        "en": "This page takes no more comments.",
        "ar": "لم تعد هذه الصفحة تقبل التعليقات.",
        "de": "Diese Seite nimmt keine Kommentare mehr an.",
        "es": "Esta página ya no admite comentarios.",
        "fr": "Cette page n’accepte plus de commentaires.",
        "it": "Questa pagina non accetta più commenti.",
        "ja": "このページではコメントの受け付けを終了しました。",
        "nl": "Op deze pagina kun je niet meer reageren.",
        "pl": "Na tej stronie nie można już komentować.",
        "pt": "Esta página não recebe mais comentários.",
        "ru": "На этой странице комментарии закрыты.",
        "zh": "本页不再接受评论。",
    },
    "rejected": {
        "en": "A field that has to stay empty is filled, as programs do, so this was taken for spam"
        " and is not stored. If you wrote it, load the page again and send it without that field.",
        "ar": "مُلئ حقل يجب أن يبقى فارغًا، فعُدّ هذا إزعاجًا ولم يُحفظ. أعد تحميل الصفحة وأرسل دونه.",
        "de": "Ein Feld, das leer bleiben muss, ist ausgefüllt; das hier gilt darum als Spam und"
        " ist nicht gespeichert. Bitte lade die Seite neu und lass das Feld leer.",
        "es": "Un campo que debe quedar vacío está relleno; se tomó por spam y no se ha guardado."
        " Carga la página de nuevo y deja ese campo vacío.",
        "fr": "Un champ qui doit rester vide est rempli ; cela a été pris pour du spam et n’est pas"
        " enregistré. Veuillez recharger la page et laisser ce champ vide.",
        "it": "Un campo che deve restare vuoto è compilato; è stato preso per spam e non è salvato."
        " Ricarica la pagina e lascia vuoto quel campo.",
        "ja": "空欄のままにすべき項目が入力されているため、迷惑投稿とみなされ、"
        "保存されませんでした。"
        "ページを再読み込みし、その項目を空欄にして送信してください。",
        "nl": "Een veld dat leeg moet blijven is ingevuld; dit is voor spam gehouden en niet"
        " bewaard. Laad de pagina opnieuw en laat dat veld leeg.",
        "pl": "Pole, które ma pozostać puste, jest wypełnione; uznano to za spam i nie zapisano."
        " Wczytaj stronę ponownie i zostaw to pole puste.",
        "pt": "Um campo que deve ficar vazio está preenchido; foi considerado spam e não foi"
        " salvo. Recarregue a página e deixe esse campo vazio.",
        "ru": "Заполнено поле, которое должно быть пустым; это принято за спам и не сохранено."
        " Загрузите страницу снова и оставьте это поле пустым.",
        "zh": "必须留空的字段被填写，因此被视为垃圾信息，未予保存。"
        "请重新加载页面，并将该字段留空。",
    },
    "form_token": {
        "en": "To keep programs out, this form has to be sent once more. Your text is still here:"
        " please send it again. (Programs get a form token from GET /api/form-token, and wait"
        " some seconds.)",
        "ar": "لإبعاد البرامج يجب إرسال هذا النموذج مرة أخرى. نصك ما زال هنا: يرجى إرساله ثانية.",
        "de": "Um Programme fernzuhalten, muss dieses Formular noch einmal abgeschickt werden. Dein"
        " Text steht noch hier: bitte schicke ihn erneut ab.",
        "es": "Para evitar programas, este formulario debe enviarse otra vez. Tu texto sigue aquí:"
        " envíalo de nuevo, por favor.",
        "fr": "Pour écarter les programmes, ce formulaire doit être envoyé encore une fois. Votre"
        " texte est toujours là : veuillez le renvoyer.",
        "it": "Per tenere fuori i programmi, questo modulo va inviato ancora una volta. Il tuo"
        " testo è ancora qui: per favore invialo di nuovo.",
        "ja": "プログラムを防ぐため、もう一度送信する必要があります。文章は残っています。",
        "nl": "Om programma’s te weren moet dit formulier nog eens worden verstuurd. Je tekst staat"
        " er nog: verstuur hem opnieuw.",
        "pl": "Aby nie wpuszczać programów, ten formularz trzeba wysłać jeszcze raz. Tekst wciąż tu"
        " jest: wyślij go ponownie.",
        "pt": "Para afastar programas, este formulário precisa ser enviado outra vez. Seu texto"
        " continua aqui: por favor, envie-o de novo.",
        "ru": "Чтобы не пускать программы, эту форму нужно отправить ещё раз. Ваш текст на месте:"
        " отправьте его снова, пожалуйста.",
        "zh": "为防止程序提交，此表单需要再发送一次。您的文字仍在这里：请重新发送。",
    },
    # No fault, but said by us alone, too: the link to /mail/own.
    "own": {
        "en": "Get or erase all that you wrote here",
        "ar": "احصل على كل ما كتبته هنا أو احذفه",
        "de": "Alles bekommen oder löschen, was du hier geschrieben hast",
        "es": "Obtener o borrar todo lo que has escrito aquí",
        "fr": "Obtenir ou effacer tout ce que vous avez écrit ici",
        "it": "Ottenere o cancellare tutto ciò che hai scritto qui",
        "ja": "ここに書いたものをすべて受け取る、または消す",
        "nl": "Alles krijgen of wissen wat je hier hebt geschreven",
        "pl": "Pobierz lub usuń wszystko, co tu jest od Ciebie",
        "pt": "Obter ou apagar tudo o que você escreveu aqui",
        "ru": "Получить или стереть всё, что вы здесь написали",
        "zh": "获取或删除您在此写下的全部内容",
    },
}
