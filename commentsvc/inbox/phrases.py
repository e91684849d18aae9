"""Words and phrases of mails, in the languages of our own mails and some more.

They are in lower case. One that is missing does little harm: the mail is held, or its text is
published as it was written.
"""

from typing import Final


def _split(text: str, separator: str | None = None) -> frozenset[str]:
    return frozenset(filter(None, (each.strip() for each in text.split(separator))))


# Words of agreement, approval and thanks.
AGREES: Final = _split(
    """
    approve approved accept accepted accepting agree agreed alright all confirm confirmed fine good
    great awesome bravo cool excellent lgtm nice ok okay okey okidoki k kk kthx publish published
    right super sure thank thanks thankyou thx tnx ty ta cheers top yes yep yeah yup
    approvare oki okido oké okè ókay
    klasse passt gerne gern jep jepp sagol valeu beleza arigato kiitoksia perfekt hyvä
    ja jawohl jap jo genehmigt genehmigen freigeben freigegeben veröffentlichen einverstanden
    gut danke dankeschön dank merci oui ouais accord approuver approuvé valider validé publier
    publié
    sí si vale gracias aprobar aprobado apruebo publicar perfecto perfetto perfekt perfect
    parfait sì grazie approva approvato approvo pubblica pubblicare bene akkoord goedgekeurd
    goedkeuren
    bedankt dankjewel dankuwel prima sim obrigado obrigada aprovar aprovado aprovo gràcies
    grazas d'acord d'accord d’accord aprovat jes dankon bone aprobi
    tak dziękuję dziękuje dzięki zatwierdź zatwierdzam zatwierdzone akceptuję zgoda dobrze ano
    děkuji děkuju díky schválit schváleno schvaluji souhlasím áno ďakujem vďaka schváliť
    schválené súhlasím
    da hvala odobri odobreno odobravam potrjujem igen köszönöm köszi jóváhagyom jóváhagyva
    rendben mulțumesc multumesc mersi aprob aprobat aprobă
    tack godkänn godkänd godkänner godkend godkendt takk godkjenn godkjent kiitos kyllä hyväksy
    hyväksytty aitäh jah paldies jā ačiū taip já
    да спасибо благодарю одобрить одобрено одобряю ок окей согласен согласна хорошо так дякую
    схвалити схвалено згоден згодна добре дзякуй ухваліць ухвалена благодаря мерси одобри
    одобрявам хвала
    ναι ευχαριστώ εγκρίνω έγκριση εντάξει οκ
    evet teşekkürler teşekkür sağol sağolun onayla onaylandı onaylıyorum tamam نعم شكرا شكراً
    موافق موافقة حسنا أوافق بله ممنون مرسی سپاس تشکر متشکرم تأیید تایید باشه شکریہ ہاں جی כן
    תודה אשר מאשר מאשרת מאושר בסדר
    हाँ हां धन्यवाद शुक्रिया स्वीकृत मंज़ूर ठीक हो হ্যাঁ ধন্যবাদ অনুমোদন ঠিক মঞ্জুর ஆம் நன்றி சரி
    ٹھیک منظور
    ack absolutely allow allowed amazing appreciated brilliant definitely done lovely noted received
    understood wonderful klar toll zustimmen freischalten freigeschaltet approuve j'approuve
    j’approuve publie publiez aprueba apruébalo publica publícalo claro bueno aprova certo goed
    jasne dobře dobre отлично ладно принято опубликовать опубликуй опублікувати olur אישור
    selvä okej bra fint greit redu bine jóváhagy 了解しました お願いします
    ใช่ ขอบคุณ ขอบคุณครับ ขอบคุณค่ะ อนุมัติ ตกลง โอเค vâng dạ có cảm đồng duyệt ừ ya iya terima
    setuju makasih setujui disetujui oke
    谢谢 谢谢你 谢谢您 多谢 感谢 非常感谢 好 好的 是 是的 可以 行 同意 批准 通过 发布 没问题
    謝謝 謝謝你 謝謝您 多謝 感謝 非常感謝 沒問題 通過 核准
    はい ありがとう ありがとうございます ありがとうございました 承認 承認します 了解 了解です
    わかりました どうも オーケー いいです いいよ
    네 예 응 감사합니다 감사해요 고맙습니다 고마워요 고마워 승인 승인합니다 좋아요 👍 👏 🙏 👌 ✅ ✔
    ❤ 🆗 😊 🙂 💯
    np impec nickel stimmt supi freigabe dale adelante listo tackar mehet dobra može baik
    можно норм пойдёт تمام 알겠습니다 확인했습니다 承知しました 大丈夫です 問題ありません どうぞ
    dankie mahalo salamat asante diolch faleminderit sipas rahmat рахмет баярлалаа graciñas
    այո շնորհակալություն დიახ გმადლობთ
    """
)
# Words that stand beside them.
BESIDE: Final = _split(
    """
    a again and bitte comment it's that's kommentar alles commentaire c'est c’est comentario mil é u
    है indeed it lot many much mate please pls sir so sounds looks that this very
    you und auch dir euch encore nochmal lieben lepa va fyrir un grand ihnen schön sehr vielen
    viele tausend herzlichen besten et beaucoup bien à toi tous vous mille de y muchas mucho
    muchísimas te le les por favor e grande molte ti vi je u wel hartelijk zeer heel veel en
    muito muita moltes moitas multan al i bardzo wielkie serdecznie moc mockrát v pořádku pekne
    veľmi velmi puno lijepa najlepša szépen nagyon és mult foarte frumos så mycket mange tusen
    og paljon suur большое огромное и вам тебе дуже щиро вялікі много πολύ σας και çok ederim ve
    جزيلا جزيلاً لك على خیلی شما بہت آپ का רבה לך मेरी बहुत अनेक আপনাকে மிக்க มาก ครับ ค่ะ นะ ơn
    skal ha آپکا کا کو ہے आपका आपको का है অনেক আছে உங்களுக்கு மிகவும்
    ý nhiều bạn kasih banyak sekali la 대단히 정말 너무 とても 本当に 先生
    """
)
# Words that begin a thanks.
THANKS: Final = _split(
    """
    thank thanks thankyou thx tnx cheers danke dank dankeschön merci gracias grazie bedankt
    dankjewel obrigado obrigada gràcies grazas dankon takk tack dziękuję dziękuje dzięki děkuji
    děkuju díky ďakujem vďaka hvala köszönöm köszi mulțumesc multumesc mersi kiitos kiitoksia aitäh
    paldies ačiū спасибо благодарю дякую дзякуй благодаря мерси хвала ευχαριστώ teşekkürler
    teşekkür sağol شكرا شكراً ممنون مرسی سپاس تشکر متشکرم شکریہ תודה धन्यवाद शुक्रिया ধন্যবাদ
    நன்றி ขอบคุณ terima makasih
    """
)
# Several words that approve.
APPROVALS: Final = _split(
    """
    go ahead, no problem, love it, okey dokey, of course, it is ok, it is fine, fine by me,
    fine with me, got it, will do, well done, good job, nice one, sure thing, post it, let it in,
    let it through, kein problem, geht klar, in ordnung, na klar, ça marche, bien, bien sûr,
    très bien, ok pour moi, de acuerdo, está bien, muy bien, por supuesto, tudo bem, tá bom,
    está bem, claro que sim, ja hoor, może być, w porządku, sağ ol, þakka þér fyrir,
    sure go ahead, ok go ahead, yes go ahead,
    do it, yes do it, go for it, this is fine, looks good to me, no worries, thumbs up,
    daumen hoch, freigabe erteilt, geht in ordnung, ist in ordnung, ist ok, ist okay, passt schon,
    sieht gut aus, von mir aus, c'est bon, c’est bon, oui c'est bon, oui c’est bon, ça va,
    ça roule, d'accordo, d’accordo, esta bien, todo bien, pode aprovar, pode publicar, a posto,
    ok per me, pubblica pure, tutto ok, dat is goed, is goed, is goed dank je, ja graag,
    v pořádku, de acord, helt fint, tak for det, kind thanks, go raibh maith agat, eskerrik asko,
    təşəkkür edirəm
    """,
    ",",
)
# A wish to remove a comment, or to get no more mails.
REMOVES: Final = _split(
    """
    delete spam remove reject rejected deny denied decline löschen lösch ablehnen abgelehnt
    supprimer supprime refuser refusé rejeter borrar eliminar rechazar rechazado elimina
    cancella rifiuta rifiutato verwijderen verwijder afwijzen bort apagar excluir rejeitar esborra
    borra poista slet slett radera usuń usunąć odrzuć odmítnout smazat zmazať odmietnuť obriši
    izbriši törlés törölni elutasít șterge respinge удалить удали отклонить видалити відхилити
    выдаліць изтрий отхвърли διαγραφή sil reddet حذف رفض מחק למחוק हटाओ ลบ xóa hapus tolak
    不要 删除 拒绝 刪除 拒絕 削除 却下 삭제 거부 👎 ❌ 🚫 unsubscribe unsubscribed stop trash junk
    hide block ban spammer abmelden abbestellen müll désabonner désinscrire indésirable supprimez
    supprimons bórralo elimínalo basura apague apaga exclui remova rejeita disiscrivi cancellami
    afmelden afkeuren spamu wypisz afmeld avmeld avregistrera roska töröl leiratkozás dezabonare
    отписаться отписка спам відписатися απεγγραφή ανεπιθύμητο abonelikten ספאם الغاء إلغاء اسپم
    سپیم हटाएँ हटाएं মুছুন நீக்கு
    स्पैम স্প্যাম ஸ்பேம் สแปม rác huỷ hủy 垃圾 退订 退訂 スパム 配信停止 스팸 수신거부
    """
)
# A no, which may also be the whole of an answer.
REFUSES: Final = REMOVES | _split(
    """
    n no nope never nein nicht non nee não nao ne nej inte ikke nei ei nie nem nu нет ні не όχι
    hayır لا نه לא नहीं نہیں না இல்லை வேண்டாம் ไม่ không tidak 不 不是 不行 いいえ だめ 아니요 아니오
    """
)
# What turns a yes into a no.
NEGATIONS: Final = REFUSES | _split(
    """
    not don't don’t dont doesn't doesn’t isn't isn’t can't can’t cannot won't won’t kein keine
    keinesfalls niet pas jamais aucun ningún nunca jamás mai niente geen nooit nenhum jamais aldrig
    ingen aldri koskaan eikä älä nikdy nigdy nikad niciodată soha ne nu nie никогда нельзя ніколи
    δεν μην değil asla ليس ليست هرگز مت मत jangan bukan đừng chưa ห้าม 别 別 没 沒 안 못
    """
)
# How the subjects of automatic mails begin: Exchange's and Outlook's own translations, and those
# of common answering machines.
AUTOMATIC: Final = _split(
    """
    auto reply, auto-reply, auto:, auto response, auto-response, autoreply, autoresponse,
    automated reply, automated response,
    automatic reply, automatic response, away from my mail, i am out of the office,
    i'm out of the office, on vacation, out of office, out of the office, vacation reply,
    undeliverable, delivery status notification,
    abwesend, abwesenheitsnotiz, abwesenheitsmeldung, automatische antwort,
    automatische rückmeldung, autom. antwort, außer haus, ich bin im urlaub,
    absence du bureau, absence :, absence:, absent du bureau, message d'absence,
    message d’absence, notification d'absence, réponse automatique, réponse automatisée,
    ausente de la oficina, fuera de la oficina, fuera de oficina, respuesta automática,
    respuesta automatica, absent de l'oficina, fora de l'oficina, resposta automàtica,
    fóra da oficina, resposta automática, resposta automatica, ausência temporária,
    ausência do escritório, fora do escritório, mensagem automática,
    assente dall'ufficio, fuori sede, fuori ufficio, risposta automatica, în afara biroului,
    răspuns automat, raspuns automat,
    afwezig, afwezigheidsbericht, automatisch antwoord, niet aanwezig, niet op kantoor,
    automatisk svar, autosvar, fraværsmeddelelse, ikke til stede, fraværsmelding,
    automatiskt svar, frånvaromeddelande, frånvaro, ej på kontoret, automaattinen vastaus,
    poissa toimistosta, poissaoloviesti, sjálfvirkt svar, automaatvastus, kontorist väljas,
    automātiska atbilde, automātiskā atbilde, automatinis atsakymas, nesu biure,
    automatyczna odpowiedź, autoodpowiedź, odpowiedź automatyczna, poza biurem,
    nieobecność w biurze, automatická odpověď, mimo kancelář, nepřítomnost, automatická odpoveď,
    mimo kancelárie, neprítomnosť, automatski odgovor, izvan ureda, samodejni odgovor,
    automatikus válasz, házon kívül, házon kívüli üzenet, nem vagyok az irodában,
    автоответ, автоматический ответ, вне офиса, нет на рабочем месте, автоматична відповідь,
    автовідповідь, поза офісом, аўтаматычны адказ, автоматичен отговор, извън офиса,
    отсъствие от офиса, аутоматски одговор, αυτόματη απάντηση, εκτός γραφείου,
    απουσία από το γραφείο,
    otomatik yanıt, otomatik cevap, ofis dışında, رد تلقائي, الرد التلقائي, خارج المكتب,
    پاسخ خودکار, پاسخگوی خودکار, תשובה אוטומטית, מענה אוטומטי, מחוץ למשרד, स्वचालित उत्तर,
    स्वचालित जवाब, স্বয়ংক্রিয় উত্তর, خودکار جواب, தானியங்கு பதில், தானியங்கி பதில்,
    ตอบกลับอัตโนมัติ, การตอบกลับอัตโนมัติ, trả lời tự động, thư trả lời tự động,
    vắng mặt, balasan otomatis, jawaban otomatis, di luar kantor, aŭtomata respondo,
    自动回复, 自动答复, 自動回覆, 自動答覆, 自動回復, 外出通知, 不在办公室, 不在辦公室, 自動返信,
    自動応答, 不在通知, 不在のお知らせ, 자동 회신, 자동 응답, 자동응답, 자동회신, 부재 중,
    부재중
    """,
    ",",
)
# What the texts of answering machines say, and of programs that ask who wrote to somebody.
MACHINES: Final = _split(
    """
    out of office, out of the office, away from my desk, away from the office, on annual leave,
    currently on vacation, i'm on vacation, i am on vacation, i'm on holiday, i am on holiday,
    currently travelling, currently traveling, on sabbatical, i'm away, i am away until,
    upon my return, no longer work at, no longer with the company, have left the company,
    address is no longer, ticket has been created, we received your, get back to you when,
    wieder erreichbar, nicht erreichbar, derzeit im urlaub, zurzeit im urlaub, nicht weitergeleitet,
    suis en vacances, actuellement en cong, suis en déplacement, à mon retour, dès mon retour,
    estoy fuera hasta, encuentro de vacaciones, estamos de vacaciones, sono in vacanza, sarò fuori,
    rientro il, rientrerò, op vakantie tot, de folga até, encontro-me de férias, na urlopie,
    正在休假, 现在外出, 外出しており, 邮件已收, 까지 휴가, 休暇をいただいて,
    on vacation until, on holiday until, on leave until, on parental leave, on maternity leave,
    limited access to e, limited access to my e, no access to e, no access to my e,
    auto-generated, autogenerated, do not reply to this, please do not reply, i'm ooo, i am ooo,
    ooo until, i'm out until, will be out until, out of office until, on pto, currently on leave,
    am on leave, i'm traveling, i'm travelling, i am traveling, i am travelling, as soon as i can,
    when i'm back, for urgent matters, for contacting us, get back to you within,
    get back to you as soon, has been opened for your, no longer work here, not in use anymore,
    has been blocked, delivery has failed, you're human, requires verification,
    ist bei uns eingegangen, melden uns in kürze, wieder für sie da, bis auf weiteres nicht,
    befinde mich im urlaub, ich befinde mich bis, im urlaub bis, mich derzeit im,
    indisponible jusqu, bien été reçu,
    réponse dès que possible, répondrai dès, a la brevedad, lo antes posible, encuentro fuera,
    recibido su mensaje, em férias até, recebemos sua mensagem, recebemos a sua mensagem,
    em breve responderemos, responderemos em breve, averci contattato, al più presto, met verlof,
    zo spoedig mogelijk contact, na zwolnieniu, najszybciej jak to, za vaši zprávu, ozveme se vám,
    på tjänsteresa, har ferie, vuosilomalla, за ваше обращение, ответим в ближайшее,
    не будет в офисе, за звернення, найближчим часом, kısa sürede dönüş, mesajınız alınmıştır,
    üzenetét, hamarosan válaszolunk, vă mulțumim pentru mesaj, تم استلام رسالتك, על פנייתך,
    cảm ơn bạn đã liên hệ, 尽快回复, 盡快回覆, 来信已收到, 來信已收到, 折り返しご連絡, 返信が遅れ,
    出張中, お問い合わせありがとう,
    automatic reply, automatic response, automated reply, automated response, automated message,
    automatically generated, this is an automat, this mailbox is not monitored, auto-reply,
    autoreply, your message has been received, we have received your, boxbe, spam arrest,
    spamarrest, verify your email, verify that you are, confirm that you are, not been delivered,
    not be delivered, undeliverable, nicht im büro, nicht im hause, außer haus, außer büro,
    abwesend, in elternzeit, automatische antwort, automatisch erzeugt, automatisch generiert,
    ich bin im urlaub, ich bin bis, absent du bureau, je suis absent, je suis actuellement absent,
    suis en congé, en congés jusqu, absente du bureau, je serai absent, réponse automatique,
    message automatique, fuera de la oficina, fuera de oficina, estoy de vacaciones,
    estaré ausente, me encuentro ausente, respuesta automática, mensaje automático,
    fora de l'oficina, resposta automàtica, fora do escritório, estou ausente, estou de férias,
    estarei ausente, resposta automática, mensagem automática, fóra da oficina, fuori ufficio,
    fuori sede, sono assente, sarò assente, sono in ferie, sarò in ferie, risposta automatica,
    messaggio automatico, nu sunt la birou, în afara biroului, în concediu, răspuns automat,
    mesaj automat, niet op kantoor, afwezig, ben met vakantie, ben ik met vakantie,
    automatisch antwoord, ikke på kontoret, på ferie, ikke til stede, automatisk svar, fraværende,
    ute av kontoret, inte på kontoret, på semester, är ledig, frånvarande, automatiskt svar,
    borta från kontoret, poissa toimistosta, olen lomalla, olen poissa, automaattinen vastaus,
    ekki við, í fríi, sjálfvirkt svar, kontorist väljas, olen puhkusel, automaatvastus,
    atvaļinājumā, prombūtnē, automātiska atbilde, automātiskā atbilde, atostogauju, nesu biure,
    automatinis atsakymas, poza biurem, jestem na urlopie, jestem nieobecn, nieobecny, nieobecna,
    automatyczna odpowiedź, mimo kancelář, nejsem v kanceláři, na dovolené, nepřítomen, nepřítomna,
    automatická odpověď, mimo kancelárie, nie som v kancelárii, na dovolenke, neprítomný,
    neprítomná, automatická odpoveď, izvan ureda, na godišnjem, nisam u uredu, automatski odgovor,
    nisem v pisarni, na dopustu, samodejni odgovor, nem vagyok az irodában, irodán kívül,
    szabadságon, házon kívül, automatikus válasz, нет на рабочем месте, не на рабочем месте,
    в отпуске, вне офиса, отсутствую, автоответ, автоматический ответ, автоматическое сообщение,
    у відпустці, поза офісом, відсутн, автоматична відповідь, у адпачынку, аўтаматычны адказ,
    извън офиса, в отпуск, автоматичен отговор, на одмору, аутоматски одговор, εκτός γραφείου,
    σε άδεια, αυτόματη απάντηση, απουσιάζω, ofis dışında, ofiste değil, izindeyim, izinde olacağım,
    yıllık izin, otomatik yanıt, otomatik cevap, خارج المكتب, في إجازة, رد تلقائي, خارج از دفتر,
    در مرخصی, پاسخ خودکار, מחוץ למשרד, בחופשה, תשובה אוטומטית, מענה אוטומטי, दफ़्तर से बाहर,
    স্বয়ংক্রিয় উত্তর, অফিসের বাইরে, خودکار جواب, دفتر سے باہر, தானியங்கு பதில், தானியங்கி பதில்,
    कार्यालय से बाहर, छुट्टी पर, स्वचालित उत्तर, ไม่อยู่ที่สำนักงาน, ไม่อยู่ในออฟฟิศ, ลาพักร้อน,
    ตอบกลับอัตโนมัติ, vắng mặt, không có mặt tại văn phòng, nghỉ phép, trả lời tự động,
    di luar kantor, sedang cuti, balasan otomatis, ekster la oficejo, aŭtomata respondo,
    不在办公室, 不在辦公室, 休假, 自动回复, 自動回覆, 自动答复, 您的来信已收到, 邮件已收到,
    您的邮件我已收到, 我已经收到, 不在にして, 不在の, 休暇中, 休暇をいただ, 休みをいただ, 自動返信,
    自動応答, 자동 회신, 자동 응답, 자동회신, 자동응답, 부재 중, 부재중, 휴가 중, 휴가중, 출장 중
    """,
    ",",
)
# What mail programs put before the subject of a mail that is answered.
REPLIES: Final = _split(
    """
    re, reply, answer, aw, antw, antwort, ant, sv, svar, vs, vast, rép, réponse, rep, réf,
    ref, r, rif, res, resp, resposta, respuesta, odp, odpověď, odg, od, vá, va, válasz, ynt, yan,
    yanıt, cevap, bls, balas, tl, trả lời, atb, ats, bc, απ, απάντηση, отв, ответ, на, відп, адк,
    отг, hs, השב, תשובה, رد, الرد, پاسخ, ตอบ, ตอบกลับ, 回复, 回覆, 答复, 答覆, 回信, 返信, 답장,
    회신, respondo
    """,
    ",",
)
