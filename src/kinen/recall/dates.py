"""The days that a question speaks of: "last week", "in May", "vor zwei Tagen", 3 мая, 2026-05-03.

What happened then gets a vote. The tables have the words of ten languages: names of units, months
and days of the week, small numbers, and what stands around them. A date in digits, and the months
of Chinese, Japanese and Korean, need none.
"""

from __future__ import annotations

from itertools import pairwise

from kinen.text import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date, datetime, timedelta
else:
    from _datetime import date, datetime, timedelta  # what `datetime` has of it in C, in an eighth

MONTHS = (
    "january januar janvier enero janeiro январ يناير كانون_الثاني",
    "february februar février febrero fevereiro феврал فبراير شباط",
    "march märz mars marzo março март مارس آذار",
    "april april avril abril abril апрел أبريل نيسان",
    "may mai mai mayo maio май мая мае مايو أيار",
    "june juni juin junio junho июн يونيو حزيران",
    "july juli juillet julio julho июл يوليو تموز",
    "august august août agosto agosto август أغسطس آب",
    "september september septembre septiembre setembro сентябр سبتمبر أيلول",
    "october oktober octobre octubre outubro октябр أكتوبر تشرين_الأول",
    "november november novembre noviembre novembro ноябр نوفمبر تشرين_الثاني",
    "december dezember décembre diciembre dezembro декабр ديسمبر كانون_الأول",
)
WEEKDAYS = (
    "monday montag lundi lunes segunda_feira понедельник 周一 星期一 月曜 월요일 الاثنين",
    "tuesday dienstag mardi martes terça_feira вторник 周二 星期二 火曜 화요일 الثلاثاء",
    (
        "wednesday mittwoch mercredi miércoles quarta_feira среду среда 周三 星期三 水曜 수요일"
        " الأربعاء"
    ),
    "thursday donnerstag jeudi jueves quinta_feira четверг 周四 星期四 木曜 목요일 الخميس",
    "friday freitag vendredi viernes sexta_feira пятницу пятница 周五 星期五 金曜 금요일 الجمعة",
    "saturday samstag samedi sábado субботу суббота 周六 星期六 土曜 토요일 السبت",
    "sunday sonntag dimanche domingo воскресенье 周日 星期日 星期天 日曜 일요일 الأحد",
)
RELATIVE = {
    ("day", 2): (
        "day_before_yesterday vorgestern avant_hier anteayer antes_de_ayer antier anteontem"
        " antes_de_ontem позавчера 前天 一昨日 おととい 그저께 엊그제 أول_أمس أول_البارحة"
        " أول_مبارح"
    ),
    ("day", 1): (
        "yesterday last_night gestern ayer anoche ontem вчера 昨天 昨日 昨晚 昨夜 きのう 어제"
        " 어젯밤 أمس الأمس بالأمس البارحة مبارح امبارح"
    ),
    ("day", 0): "today heute aujourd_hui hoy hoje сегодня 今天 今日 本日 きょう 오늘 اليوم",
    ("week", 2): (
        "week_before_last vorletzte_woche vorletzter_woche vorletzten_woche позапрошлой_неделе"
        " 上上周 上上个星期 先々週 지지난주"
    ),
    ("week", 1): (
        "last_week letzte_woche letzten_woche letzter_woche vergangene_woche vorige_woche"
        " semaine_dernière semaine_passée semana_pasada semana_passada прошлой_неделе"
        " прошлую_неделю 上周 上星期 上个星期 先週 지난주 지난_주 الأسبوع_الماضي"
        " الأسبوع_الفائت"
    ),
    ("week", 0): (
        "this_week diese_woche dieser_woche cette_semaine esta_semana этой_неделе эту_неделю"
        " 本周 这周 这个星期 今週 이번_주 이번주 هذا_الأسبوع"
    ),
    ("month", 2): (
        "month_before_last vorletzten_monat позапрошлом_месяце 上上个月 先々月 지지난달"
    ),
    ("month", 1): (
        "last_month letzten_monat letztem_monat vergangenen_monat vorigen_monat mois_dernier"
        " mois_passé mes_pasado mês_passado прошлом_месяце прошлый_месяц 上个月 上月 先月"
        " 지난달 지난_달 الشهر_الماضي الشهر_الفائت"
    ),
    ("month", 0): (
        "this_month diesen_monat diesem_monat ce_mois este_mes este_mês этом_месяце 本月"
        " 这个月 今月 이번_달 이번달 هذا_الشهر"
    ),
    ("year", 2): "year_before_last vorletztes_jahr позапрошлом_году 一昨年 재작년",
    ("year", 1): (
        "last_year letztes_jahr letztem_jahr letzten_jahr voriges_jahr année_dernière"
        " année_passée an_dernier an_passé año_pasado ano_passado прошлом_году прошлый_год"
        " 去年 昨年 작년 지난해 العام_الماضي السنة_الماضية"
    ),
    ("year", 0): (
        "this_year dieses_jahr diesem_jahr cette_année este_año este_ano этом_году 今年 올해"
        " هذا_العام هذه_السنة"
    ),
}
"""By how many of them ago they began; a phrase that has another in it comes first."""
FRENCH = frozenset(
    "le la les un une des du de d l qu que qui quoi ce cette est a ont on nous et".split()
)
GERMAN = frozenset(
    "der die das den dem ein eine was wer wie wo ist sind war wir ich es und".split()
)
"""Words beside `hier`, which is yesterday in French and here in German."""
AGO = "ago vor il_y_a hace há назад 前 전 قبل منذ"
PAST = (
    "last past letzten vergangenen derniers dernières últimos últimas últimas последние 最近 过去"
)
PAST += " 過去 지난 آخر"
UNITS = {
    1: "day tag jour día dia дн ден 天 日 일 يوم أيام",
    7: "week woche semaine semana недел 周 星期 週 주 أسبوع أسابيع",
    30: "month monat mois mes mês месяц 个月 か月 ヶ月 개월 달 شهر أشهر",
}
DUAL = {"يومين": "يوم", "أسبوعين": "أسبوع", "شهرين": "شهر"}
"""Two of a unit are one word in Arabic."""
NUMBERS = (
    "a an one ein eine einem einer un une una um uma одну один 一 한",
    "two zwei deux dos dois duas два две 二 两 두 이",
    "three drei trois tres três три 三 세 삼",
    "four vier quatre cuatro quatro четыре 四 네",
    "five fünf cinq cinco пять 五 다섯",
    "six sechs seis шесть 六 여섯",
)
IN = frozenset("in im en em de last bis в с во".split())
"""Words before a month: in lower case or at the beginning a name may be another word (may)."""
SINCE = frozenset(
    "since after seit nach nachdem depuis après desde después depois após после منذ بعد بعدما"
    " 之后 以后 之後 以後 以来 以來 以降 后 後 から 이후 이래 후 뒤 부터".split()
)
UNTIL = frozenset(
    "before until vor bis bevor avant jusqu jusque antes hasta até до перед قبل حتى"
    " 之前 以前 前 まで 이전 전 까지".split()
)
WHILE = frozenset(
    "during while während pendant durant durante mientras enquanto во_время أثناء خلال"
    " 期间 期間 の間 中 동안 중".split()
)
"""Words beside a time that begin with it, end with it, or are in it: before, or behind (之后)."""
MARKERS = SINCE | UNTIL | WHILE
BESIDE = frozenset("st nd rd th of de".split())
"""What may stand between a month and its day."""
MONTH = timedelta(days=30)
WEEK = timedelta(days=7)
TOLD_LATER = 0.5
"""How well the week after a time fits."""
SHORT = 3
"""Letters of the shortest abbreviation of a month."""
CJK = "一二三四五六七八九十"
_DAY = lazy_pattern(r"(?<!\d)(20\d\d)-(\d\d)(?:-(\d\d))?(?!\d)")
_SCRIPTED = lazy_pattern(
    r"(?:(20\d\d)\s*[年년]\s*)?(?<!\d)(1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])[月월](?!曜)"
    r"(?:\s*(3[01]|[12]?\d)[日号일])?"
)
_YEAR = lazy_pattern(r"(?<![\d-])20\d\d(?=\s*[年년])")
_WORD = lazy_pattern(r"(?:تشرين|كانون) [^\W\d_]+|[^\W\d_]+|\d+")
_SPACED = lazy_pattern(r"\w+")


def is_behind(marker: str) -> bool:
    """Whether a marker stands behind its time: in scripts without spaces, and in Korean."""
    return marker > "\u2e00"


def _alone(marker: str) -> str:
    """A marker as an expression; one letter also begins other words (前端, 后台, 전체)."""
    if len(marker) > 1:
        return marker
    if marker >= "\uac00":
        return rf"(?<=\s){marker}(?=\s|$|[에의은는엔로])"
    return rf"{marker}(?![\u3400-\u9fff])"


BEHIND = lazy_pattern(
    "|".join(map(_alone, sorted(filter(is_behind, MARKERS), key=len, reverse=True)))
)

Span = tuple[date, date]


def span(question: str, today: date) -> Span | None:
    """The first and the last day of the time that a question names; None if it has no date."""
    for marker, days in _spans(question, today):
        return bounded(marker, days, today)
    return None


def has_marker(question: str) -> bool:
    """Whether a question has a word that stands beside times, and may stand beside others."""
    spaced = f" {' '.join(_SPACED.findall(question.lower()))} "
    return bool(_before(spaced, " ".join(MARKERS)))


def local_day(moment: str) -> date:
    """The day of a moment by this machine's clock."""
    return datetime.fromisoformat(moment).astimezone().date()


def bounded(marker: str, days: Span, today: date) -> Span:
    """The days, up to today if a marker says that it began then, or the month before."""
    first, last = days
    if marker in SINCE:
        return first, max(last, today)
    return (first - MONTH, first) if marker in UNTIL else days


def on_days(days: Span, at: Mapping[int, str]) -> dict[int, float]:
    """How well the time of each fits some days, by this machine's clock.

    What happened on a day is often told on the days after it.
    """
    first, last = days
    fits = {}
    for id_, time in at.items():
        day = local_day(time) if time else date.min
        if first <= day <= last:
            fits[id_] = 1.0
        elif last < day <= last + WEEK:
            fits[id_] = TOLD_LATER
    return fits


def _spans(question: str, today: date) -> Iterator[tuple[str, Span]]:
    """Each time that is named, with the word before it: exact ones first."""
    for match in _DAY.finditer(question) if "20" in question else ():
        year, month, day = (int(part or 0) for part in match.groups())
        if 1 <= month <= 12:
            yield from _dated(_beside(question, *match.span()), year, month, day)
    for match in _SCRIPTED.finditer(question) if not question.isascii() else ():
        number = sum(CJK.find(sign) + 1 for sign in match[2]) or int(match[2])
        year, month = _past(number, int(match[1] or 0), today)
        yield from _dated(_beside(question, *match.span()), year, month, int(match[3] or 0))
    yield from _named_months(question, today)
    low = question.lower()
    spaced = f" {' '.join(_SPACED.findall(low))} "
    yield from _counted(low, spaced, today)
    beside = set(spaced.split())
    in_french = len(beside & FRENCH) > len(beside & GERMAN)
    for (unit, ago), phrases in RELATIVE.items():
        hier = " hier" if in_french and (unit, ago) == ("day", 1) else ""
        if before := _before(spaced, phrases + hier):
            yield before[-1], _ago(unit, ago, today)
    for number, names in enumerate(WEEKDAYS):
        if before := _before(spaced, names):
            weekday = today - timedelta(days=(today.weekday() - number) % 7)
            yield before[-1], (weekday, weekday)
    words = low.split()
    for before_year, word in zip(["", *words], words, strict=False):
        bare = word.strip("?.!,")
        alone = before_year in IN | SINCE | UNTIL and len(bare) == 4 and bare.isdecimal()
        if alone and bare[:2] == "20":
            yield before_year, (date(int(bare), 1, 1), date(int(bare), 12, 31))
    for match in _YEAR.finditer(question) if not question.isascii() else ():
        yield "", (date(int(match[0]), 1, 1), date(int(match[0]), 12, 31))


def _dated(marker: str, year: int, month: int, day: int = 0) -> Iterator[tuple[str, Span]]:
    """A month or a day of it, with the word beside it."""
    first, last = _month(year, month)
    chosen = first + timedelta(days=day - 1)
    if chosen <= last:
        yield marker, (chosen, chosen) if day else (first, last)


def _beside(question: str, start: int, end: int) -> str:
    """The marker behind a date, or the word before it."""
    while question[end : end + 1] in tuple(" のより"):
        end += 1
    behind = BEHIND.match(question, end)
    words = _WORD.findall(question[:start].lower())
    return behind[0] if behind else words[-1] if words else ""


def _named_months(question: str, today: date) -> Iterator[tuple[str, Span]]:
    tokens = [(match.start(), match[0]) for match in _WORD.finditer(question)]
    words = [word for _, word in tokens]
    for at, (start, word) in enumerate(tokens):
        number = next((n for n, names in enumerate(MONTHS, 1) if _is_month(word, names)), 0)
        short = not number and word[0].isupper() and len(word) >= SHORT and start > 0
        if short:
            begins = (n for n, names in enumerate(MONTHS, 1) if _abbreviates(word.lower(), names))
            number = next(begins, 0)
        counted = at > 1 and words[at - 1].lower() == "of" and _is_day(words[at - 2])
        if not number or counted:  # 3rd of May, but version 3 of Jan
            continue
        behind = [each for each in words[at + 1 : at + 5] if each.lower() not in BESIDE][:2]
        ahead = [n for n in range(max(0, at - 3), at) if words[n].lower() not in BESIDE][-1:]
        day = next((int(words[n]) for n in ahead if _is_day(words[n])), 0)
        if not day and behind and _is_day(behind[0]):
            day = int(behind.pop(0))
        year = next((int(each) for each in behind[:1] if _is_year(each)), 0)
        opens = ahead[-1] if ahead and _is_day(words[ahead[-1]]) else at
        ahead_of_it = [each.lower() for each in words[max(0, opens - 2) : opens]]
        bounds = [each for each in ahead_of_it if each in SINCE | UNTIL]
        before = (bounds or ahead_of_it or [""])[-1]
        named = (word[0].isupper() and start > 0) or not (word[0].isupper() or word[0].islower())
        if year or day or (not short and (named or before in IN | SINCE | UNTIL)):
            year, number = _past(number, year, today)
            yield from _dated(before, year, number, day)


def _is_day(word: str) -> bool:
    return word.isdecimal() and len(word) < 3 and 0 < int(word) < 32


def _is_year(word: str) -> bool:
    return word.isdecimal() and 1900 <= int(word[:5]) < 2100


def _abbreviates(word: str, names: str) -> bool:
    """Whether a word is the beginning of a name: of three letters, or up to a later consonant.

    At least two letters are left out (Sept, janv, févr): Marc is a name, and so is Jane.
    """
    whole = len(word) == SHORT or word[-1] not in "aeiou"
    return whole and any(
        name.startswith(word) and len(name) >= len(word) + 2 for name in names.split()
    )


def _is_month(word: str, names: str) -> bool:
    """Whether a word is one of some names; a Russian one may have another ending."""
    low = word.lower().replace(" ", "\0")
    return any(
        low == name
        or ("а" <= name[0] <= "я" and len(low) <= len(name) + 2 and low.startswith(name))
        for name in names.replace("_", "\0").split()
    )


def _counted(low: str, spaced: str, today: date) -> Iterator[tuple[str, Span]]:
    """`3 days ago`, `the last two weeks`."""
    words = _WORD.findall(low)
    past = not set(words).isdisjoint(PAST.split())
    ago = _before(spaced, AGO)
    if not (past or ago):
        return
    tokens = []
    for word in words:  # a number is written before its unit in Chinese and Japanese
        numbered = len(word) > 1 and word[0] in CJK + "两"
        two = ["2", DUAL[word]] if word in DUAL else [word]
        tokens += [word[0], word[1:]] if numbered else two
    tokens = [token for token in tokens if token not in PAST.split()]
    for number, unit in pairwise(tokens):
        count = next((n for n, names in enumerate(NUMBERS, 1) if number in names.split()), 0)
        count = count or (int(number) if number.isdecimal() and len(number) < 4 else 0)
        days = next((n for n, names in UNITS.items() if unit.startswith(tuple(names.split()))), 0)
        if count and days and ago:
            middle = today - timedelta(days=count * days)
            yield "", (middle - timedelta(days=days // 2), middle + timedelta(days=days // 2))
        elif count > 1 and days:
            yield "", (today - timedelta(days=count * days), today)


def _before(text: str, phrases: str) -> list[str]:
    """The words up to the first phrase that a text has, at least one; none if it has none.

    A phrase is whole words, where the script has spaces between words.
    """
    for phrase in phrases.replace("_", "\0").split():
        around = "" if phrase[0] > "\u2e00" else " "
        place = text.find(f"{around}{phrase.replace(chr(0), ' ')}{around}")
        if place >= 0:
            return ["", *text[:place].split()]
    return []


def _ago(unit: str, count: int, today: date) -> Span:
    """A day, week, month or year, by how many of them ago it was."""
    if unit == "day":
        return today - timedelta(days=count), today - timedelta(days=count)
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * count)
        return monday, monday + timedelta(days=6)
    if unit == "month":
        year, month = divmod(12 * today.year + today.month - 1 - count, 12)
        return _month(year, month + 1)
    return date(today.year - count, 1, 1), date(today.year - count, 12, 31)


def _past(month: int, year: int, today: date) -> tuple[int, int]:
    """A year and month; without a year, the last one that has begun."""
    return (year or today.year - (month > today.month)), month


def _month(year: int, month: int) -> Span:
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), following - timedelta(days=1)
