"""The days that a question speaks of: "last week", "in May", "vor 3 Tagen", 2026-05-03.

What happened then gets a vote. The tables have the words of ten languages; a date in digits and the
months of Chinese, Japanese and Korean need none. French "hier" is left out: in German it is "here".
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from kinen.text import now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MONTHS = (
    "january januar janvier enero janeiro январ يناير",
    "february februar février febrero fevereiro феврал فبراير",
    "march märz mars marzo março март مارس",
    "april april avril abril abril апрел أبريل",
    "may mai mai mayo maio май мая мае مايو",
    "june juni juin junio junho июн يونيو",
    "july juli juillet julio julho июл يوليو",
    "august august août agosto agosto август أغسطس",
    "september september septembre septiembre setembro сентябр سبتمبر",
    "october oktober octobre octubre outubro октябр أكتوبر",
    "november november novembre noviembre novembro ноябр نوفمبر",
    "december dezember décembre diciembre dezembro декабр ديسمبر",
)
LAST = {
    "yesterday": "yesterday gestern ayer ontem вчера 昨天 昨日 어제 أمس",
    "week": "last_week letzte_woche letzter_woche semaine_dernière semana_pasada semana_passada"
    " прошлой_неделе прошлую_неделю 上周 上星期 先週 지난주 الأسبوع_الماضي",
    "month": "last_month letzten_monat letztem_monat mois_dernier mes_pasado mês_passado"
    " прошлом_месяце прошлый_месяц 上个月 先月 지난달 الشهر_الماضي",
    "year": "last_year letztes_jahr letztem_jahr année_dernière año_pasado ano_passado"
    " прошлом_году 去年 작년 العام_الماضي",
}
AGO = "ago vor il_y_a hace há назад 前 전 قبل"
UNITS = {
    1: "day tag jour día dia дн ден 天 日 일 يوم أيام",
    7: "week woche semaine semana недел 周 星期 週 주 أسبوع أسابيع",
    30: "month monat mois mes mês месяц 个月 か月 ヶ月 개월 달 شهر أشهر",
}
BEFORE = frozenset("in im en em de since seit depuis desde last until bis в с во".split())
"""Words before a month: in lower case or at the beginning a name may be another word (may)."""
_DAY = re.compile(r"(?<!\d)(20\d\d)-(\d\d)(?:-(\d\d))?(?!\d)")
_SCRIPTED_MONTH = re.compile(r"(?:(20\d\d)\s*[年년]\s*)?(?<!\d)(1[0-2]|[1-9])[月월]")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_SPACED = re.compile(r"\w+")
_COUNT = re.compile(r"(?<![\d.])(\d{1,3})\s*([^\W\d]+)")

Span = tuple[date, date]


def span(question: str, today: date) -> Span | None:
    """The first and the last day of the time that a question names; None if it names none."""
    return next(_spans(question, today), None)


def on_days(question: str, at: Mapping[int, str]) -> list[int]:
    """Those whose time lies in the days that a question names, by the clock of this machine."""
    moment = datetime.fromtimestamp(now()).astimezone()
    days = span(question, moment.date())
    if not days:
        return []
    first, last = days

    def day(time: str) -> date:
        return datetime.fromisoformat(time).astimezone().date()

    return [id_ for id_, time in at.items() if time and first <= day(time) <= last]


def _spans(question: str, today: date) -> Iterator[Span]:
    for match in _DAY.finditer(question):
        year, month, day = (int(part or 0) for part in match.groups())
        if 1 <= month <= 12 and day <= 31:
            first, last = _month(year, month)
            chosen = first + timedelta(days=day - 1)
            yield (chosen, chosen) if day and chosen <= last else (first, last)
    low = question.lower()
    spaced = f" {' '.join(_SPACED.findall(low))} "
    for unit, phrases in LAST.items():
        if any(_says(spaced, phrase.replace("_", " ")) for phrase in phrases.split()):
            yield _last(unit, today)
    if any(_says(spaced, word.replace("_", " ")) for word in AGO.split()):
        for match in _COUNT.finditer(low):
            for days, names in UNITS.items():
                if match[2].startswith(tuple(names.split())):
                    middle = today - timedelta(days=int(match[1]) * days)
                    yield middle - timedelta(days=days // 2), middle + timedelta(days=days // 2)
    for match in _SCRIPTED_MONTH.finditer(question):
        yield _month(*_past(int(match[2]), int(match[1] or 0), today))
    yield from _named_months(question, today)


def _named_months(question: str, today: date) -> Iterator[Span]:
    found = [(match.start(), match[0]) for match in _WORD.finditer(question)]
    for at, (start, word) in enumerate(found):
        number = next((n for n, names in enumerate(MONTHS, 1) if _is_month(word, names)), 0)
        if not number:
            continue
        after = found[at + 1][1] if at + 1 < len(found) else ""
        before = found[at - 1][1].lower() if at else ""
        year = int(after) if len(after) == 4 and after.isdecimal() else 0
        if year or before in BEFORE or (word[0].isupper() and start > 0):
            yield _month(*_past(number, year, today))


def _is_month(word: str, names: str) -> bool:
    """Whether a word is one of some names; a Russian one may have another ending."""
    low = word.lower()
    return any(
        low == name or (not name.isascii() and len(low) <= len(name) + 2 and low.startswith(name))
        for name in names.split()
    )


def _says(text: str, phrase: str) -> bool:
    """Whether a text has a phrase; as whole words, where the script has spaces between words."""
    around = "" if phrase[0] > "\u2e00" else " "
    return f"{around}{phrase}{around}" in text


def _last(unit: str, today: date) -> Span:
    if unit == "yesterday":
        return today - timedelta(days=1), today - timedelta(days=1)
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7)
        return monday, monday + timedelta(days=6)
    if unit == "month":
        return _month(today.year - (today.month == 1), (today.month - 2) % 12 + 1)
    return date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)


def _past(month: int, year: int, today: date) -> tuple[int, int]:
    """A year and month; without a year, the last one that has begun."""
    return (year or today.year - (month > today.month)), month


def _month(year: int, month: int) -> Span:
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), following - timedelta(days=1)
