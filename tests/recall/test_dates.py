"""The days that a question names, in ten languages, and what they change in a recall."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen import Memory, Query
from kinen.recall.dates import on_days, span
from kinen.recall.tiers import shown
from kinen.text import iso, now

if TYPE_CHECKING:
    from pathlib import Path

TODAY = date(2026, 11, 18)
WEEK = (date(2026, 11, 9), date(2026, 11, 15))
MAY = (date(2026, 5, 1), date(2026, 5, 31))
THREE_DAYS_AGO = (date(2026, 11, 15),) * 2


SAID = (
    "What did we decide last week? | Was haben wir letzte Woche entschieden?"
    " | Qu'avons-nous décidé la semaine dernière ? | ¿Qué decidimos la semana pasada?"
    " | O que decidimos na semana passada? | Что мы решили на прошлой неделе?"
    " | 上周我们决定了什么？ | 先週何を決めましたか | 지난주에 무엇을 결정했나요"
    " | ماذا قررنا الأسبوع الماضي؟"
)
IN_MAY = (
    "the outage in May | der Ausfall im Mai | la panne de mai | la caída de mayo"
    " | a falha em maio | сбой в мае | 5月的故障 | 5月の障害 | 5월 장애"
    " | العطل في مايو 2026"
)
AGO = (
    "the fix 3 days ago | vor 3 Tagen | il y a 3 jours | hace 3 días | há 3 dias"
    " | 3 дня назад | 3天前 | 3日前 | 3일 전 | قبل 3 أيام"
)


DAY_OF_MAY = (
    "May 3rd | on the 3rd of May | am 3. Mai | le 3 mai | el 3 de mayo | 3 de maio | 3 мая"
    " | 5月3日 | 5月3日に | 5월 3일 | 3 مايو"
)
TWO_WEEKS_AGO = (
    "two weeks ago | vor zwei Wochen | il y a deux semaines | hace dos semanas"
    " | há duas semanas | две недели назад | 两周前 | 二週間前 | 두 주 전"
    " | قبل أسبوعين | منذ أسبوعين"
)
THIS_WEEK = (
    "this week | diese Woche | cette semaine | esta semana | на этой неделе | 本周 | 今週"
    " | 이번 주 | هذا الأسبوع"
)
LAST_THREE_DAYS = (
    "the last three days | die letzten drei Tage, in den letzten 3 Tagen"
    " | ces trois derniers jours | los últimos tres días | últimos três dias | последние 3 дня"
    " | 最近3天 | 過去3日"
)
MONDAY = "on Monday | am Montag | lundi | el lunes | na segunda-feira | 周一 | 月曜日 | 월요일"
SINCE_MAY = "since May | seit Mai | depuis mai | desde mayo | desde maio | منذ مايو"


YESTERDAY = (
    "yesterday's outage | the outage last night | der Ausfall gestern | Qu'avons-nous changé hier ?"
    " | la panne d'hier soir | la caída de ayer | a falha de ontem | что мы решили вчера"
    " | 昨天的故障"
    " | 昨日の障害 | 어제의 장애 | العطل أمس | العطل بالأمس | العطل البارحة | شو صار مبارح"
)
DAY_BEFORE = (
    "the day before yesterday | vorgestern | avant-hier | anteayer | antes de ayer | anteontem"
    " | antes de ontem | позавчера | 前天 | 一昨日 | 그저께 | أول أمس"
)
TODAY_OF_ALL = "today | heute | aujourd'hui | hoy | hoje | сегодня | 今天 | 今日 | 오늘 | اليوم"
LAST_MONTH = (
    "last month | letzten Monat | le mois dernier | le mois passé | el mes pasado | o mês passado"
    " | в прошлом месяце | 上个月 | 先月 | 지난달 | الشهر الماضي"
)
LAST_YEAR = (
    "last year | letztes Jahr | l'année dernière | l'an passé | el año pasado | o ano passado"
    " | в прошлом году | 去年 | 昨年 | 작년 | السنة الماضية"
)
WEEK_BEFORE_LAST = "the week before last | vorletzte Woche | 上上周 | 先々週 | 지지난주"


@pytest.mark.parametrize(
    ("days", "questions"),
    [
        ((date(2026, 11, 17),) * 2, YESTERDAY),
        ((date(2026, 11, 16),) * 2, DAY_BEFORE),
        ((TODAY, TODAY), TODAY_OF_ALL),
        ((date(2026, 10, 1), date(2026, 10, 31)), LAST_MONTH),
        ((date(2025, 1, 1), date(2025, 12, 31)), LAST_YEAR),
        ((date(2026, 11, 2), date(2026, 11, 8)), WEEK_BEFORE_LAST),
        ((date(2026, 11, 17), TODAY), "what changed since yesterday | ce qui a changé depuis hier"),
        ((date(2026, 11, 3),) * 2, "the fix of Nov 3 | der Fix vom 3. Nov | 3rd of Nov"),
        (WEEK, SAID),
        (MAY, IN_MAY),
        (THREE_DAYS_AGO, AGO),
        ((date(2026, 5, 3),) * 2, f"what happened on 2026-05-03? | {DAY_OF_MAY}"),
        ((date(2022, 10, 6),) * 2, "on October 6, 2022 | on 6 October, 2022"),
        ((date(2026, 11, 1), date(2026, 11, 7)), TWO_WEEKS_AGO),
        ((date(2026, 11, 16), date(2026, 11, 22)), THIS_WEEK),
        ((date(2026, 11, 15), TODAY), LAST_THREE_DAYS),
        ((date(2026, 11, 16),) * 2, MONDAY),
        ((date(2026, 5, 1), TODAY), SINCE_MAY),
        ((date(2026, 4, 1), date(2026, 5, 1)), "before May | vor Mai | antes de mayo | 5月之前"),
        ((date(2026, 4, 3), date(2026, 5, 3)), "5月3日之前 | 5月3日より前 | 5월 3일 전에"),
        ((date(2026, 5, 3), TODAY), "2026-05-03 以来 | 5月3日以降 | 5월 3일 이후"),
        ((date(2026, 5, 1), date(2026, 5, 31)), "5月前端的问题 | 5월 전체 목록"),
        ((date(2024, 1, 1), date(2024, 12, 31)), "the plan in 2024 | 2024年の計画"),
        ((date(2025, 12, 1), date(2025, 12, 31)), "十二月的发布"),
        ((date(2025, 12, 1), date(2025, 12, 31)), "the release of December"),
    ],
)
def test_a_question_names_days_in_any_of_the_languages(
    days: tuple[date, date], questions: str
) -> None:
    for question in questions.split(" | "):
        assert span(question, TODAY) == days, question


MONTHS = {
    "in {} 2025": "January February March April May June July August September October November"
    " December",
    "im {} 2025": "Januar Februar März April Mai Juni Juli August September Oktober November"
    " Dezember",
    "en {} 2025": "janvier février mars avril mai juin juillet août septembre octobre novembre"
    " décembre",
    "de {} de 2025": "enero febrero marzo abril mayo junio julio agosto septiembre octubre"
    " noviembre"
    " diciembre",
    "em {} de 2025": "janeiro fevereiro março abril maio junho julho agosto setembro outubro"
    " novembro"
    " dezembro",
    "в {} 2025": "январе феврале марте апреле мае июне июле августе сентябре октябре ноябре"
    " декабре",
    "3 {} 2025 г.": "января февраля марта апреля мая июня июля августа сентября октября ноября"
    " декабря",
    "2025年{}月": "1 2 3 4 5 6 7 8 9 10 11 12",
    "2025년 {}월": "1 2 3 4 5 6 7 8 9 10 11 12",
    "في {} 2025": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "في {} ٢٠٢٥": "كانون_الثاني شباط آذار نيسان أيار حزيران تموز آب أيلول تشرين_الأول تشرين_الثاني"
    " كانون_الأول",
}


@pytest.mark.parametrize(("form", "names"), MONTHS.items())
def test_every_month_has_its_name(form: str, names: str) -> None:
    for number, name in enumerate(names.split(), 1):
        days = span(form.format(name.replace("_", " ")), TODAY)
        assert days is not None, name
        assert {(day.year, day.month) for day in days} == {(2025, number)}, name


@pytest.mark.parametrize(
    "question",
    [
        "may I use the pool?",
        "May we merge it?",
        "the march of progress",
        "mars rover",
        "a 3 day trip",
        "version 2026-13-40",
        "was ist hier los?",
        "Wo wird das hier gesetzt?",
        "the Deck 3 of cards",
        "version 3 of Marc",
        "version 3 of Jan",
        "what Jane 3 said",
        "what Jan decided",
        "two tests of the day",
        "error 2024 in line 3",
        "",
    ],
)
def test_what_only_looks_like_a_date_is_none(question: str) -> None:
    assert span(question, TODAY) is None


def test_what_is_told_within_a_week_fits_less() -> None:
    at = {1: "2026-05-03T12:00:00Z", 2: "2026-05-06T12:00:00Z", 3: "2026-06-01T12:00:00Z"}
    assert on_days((date(2026, 5, 3),) * 2, at) == {1: 1.0, 2: 0.5}


@given(st.text(), st.dates(date(2001, 1, 1), date(2100, 1, 1)))
def test_no_question_breaks_it(question: str, today: date) -> None:
    days = span(question, today)
    assert days is None or days[0] <= days[1]


def test_a_recall_tells_what_happened_then_first(tmp_path: Path) -> None:
    (tmp_path / ".kinen").mkdir()
    settings = {"index.embedding_provider": "none"}
    month = date.fromisoformat(iso(now())[:10]) - timedelta(days=200)
    with Memory.open(tmp_path, home=tmp_path / "home", settings=settings) as memory:
        for days in (1, 200, 400):
            text = f"The gateway timeout is now {days + 10} seconds, as the vendor asked"
            memory.observe(text, at=round((now() - days * 86_400) * 1000))
        told = shown(memory.recall(Query(f"gateway timeout of {month:%B} {month.year}")))
        plain = shown(memory.recall(Query("gateway timeout")))
    assert told.index("210 seconds") < told.index("11 seconds")
    assert plain.index("11 seconds") < plain.index("210 seconds")
