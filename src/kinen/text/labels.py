"""What people label: `Decision: …`, `### Lesson`, `> [!rule]`, a column `Decision`, an ADR.

A label is evidence of its own: somebody wrote down what the sentence is. So the words of the text
do not matter, only its structure and one table of label words, in eleven languages. Code and quoted
text have no labels, and a value that is empty, templated or still open says nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kinen.model.kinds import MEMORY_TYPES
from kinen.model.tuples import NamedTuple
from kinen.text import QUESTION, excerpt, lazy_pattern
from kinen.text.sentences import is_line, parsed, plain, sentences, size

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

LONGEST = 500
"""Characters of a statement: whole sentences, as many as fit."""
LARGEST = 400_000
"""Characters of a text that is read."""
MOST_ITEMS = 40
"""Items or rows under one label."""
LONGEST_LABEL = 80
"""Characters of a label with its markup."""
LONGEST_HEAD = 12
"""Words of a heading in which a label is looked for."""
TITLE = 7
"""The level of a line that stands for a heading: below all headings."""
SHORT = 5
"""Words below which a statement is told with the heading above it."""

RESULT = "result"
"""What labels a part of a closing message, and is the topic of a part in other texts."""
LABELS: Mapping[str, str] = {
    word.strip(): type_
    for type_, table in {
        "decision": """
            decision, decisions, decided, agreed, decision outcome, decision made, decisions made,
            decision log, decision taken, decisions taken, chosen option, breaking change
            | entscheidung, entscheidungen, entschieden, beschluss, beschlüsse, beschlossen
            | décision, décisions, décidé, choix retenu
            | decisión, decisiones, decidido, acordado
            | decisão, decisões, decidido, acordado
            | решение, решения, решено, принято решение
            | 决定, 决策, 決策, 决议 | 決定, 決定事項, 決定内容
            | decisione, decisioni, deciso | 결정, 결정사항, 결정 사항
            | قرار, القرار, قرارات, القرارات""",
        "lesson": """
            lesson, lessons, lesson learned, lessons learned, lesson learnt, lessons learnt,
            learned, learning, learnings, takeaway, takeaways, gotcha, gotchas
            | lektion, lektionen, lehre, lehren, gelernt
            | leçon, leçons, leçon apprise, leçons apprises, appris, à retenir, enseignement,
            enseignements
            | lección, lecciones, lección aprendida, lecciones aprendidas, aprendido, aprendizaje,
            aprendizajes
            | lição, lições, lição aprendida, lições aprendidas, aprendizado, aprendizados
            | урок, уроки, вывод, выводы
            | 教训, 经验教训, 經驗教訓, 经验 | 教訓, 学び, 学んだこと
            | lezione, lezioni, lezione appresa, lezioni apprese | 교훈, 배운 점
            | درس, الدرس, دروس, الدروس, الدروس المستفادة, دروس مستفادة""",
        "pattern": """
            pattern, patterns, rule, rules, convention, conventions, principle, principles
            | muster, regel, regeln, konvention, konventionen, grundsatz, grundsätze
            | règle, règles, convention, conventions, principe, principes
            | patrón, patrones, regla, reglas, convención, convenciones, principio, principios
            | padrão, padrões, regra, regras, convenção, convenções, princípio, princípios
            | правило, правила, паттерн, соглашение, соглашения, принцип, принципы
            | 模式, 规则, 規則, 约定, 約定, 规范, 原则 | パターン, ルール, 規約, 原則
            | regola, regole, convenzione, convenzioni, principi | 규칙, 원칙, 패턴, 컨벤션
            | قاعدة, القاعدة, قواعد, القواعد, مبدأ, المبدأ, مبادئ, المبادئ, اصطلاح""",
        "insight": """
            insight, insights | erkenntnis, erkenntnisse, einsicht, einsichten
            | constat, constats | hallazgo, hallazgos | descoberta, descobertas
            | инсайт, инсайты, наблюдение | 洞察, 见解, 見解 | 知見, 気づき
            | intuizione, intuizioni | 인사이트 | استنتاج, الاستنتاج, استنتاجات""",
        "why": """
            rationale, reason, reasons, reasoning, why, because, justification
            | grund, gründe, begründung, warum, weil | raison, raisons, pourquoi, justification
            | razón, razones, motivo, motivos, por qué | razão, razões, motivo, por quê, porque
            | причина, причины, почему, обоснование | 原因, 理由 | なぜ
            | motivazione, ragione, perché | 이유, 근거
            | سبب, السبب, أسباب, الأسباب, لماذا, المبرر""",
        "cause": """
            root cause, cause | ursache | cause racine | causa raíz, causa | causa raiz
            | первопричина | 根本原因, 根因 | causa principale | 근본 원인 | السبب الجذري""",
        "answer": """
            answer, antwort, réponse, respuesta, resposta, ответ, 回答, 答え, risposta, 답변,
            الجواب, الإجابة""",
        "status": "status, état, estado, статус, 状态, ステータス, stato, 상태, الحالة",
        "topic": """
            topic, question, area, subject, component | thema, frage, bereich | sujet, question
            | tema, pregunta | tema, pergunta | тема, вопрос | 主题, 问题 | 題目, 質問
            | argomento, domanda | 주제, 질문 | الموضوع, السؤال""",
        "choice": """
            choice, chosen, selected, selection, outcome, resolution, detail, details
            | wahl, gewählt | choix | elección | escolha | выбор | 选择 | 選択
            | scelta | 선택 | الاختيار, الخيار""",
        "next": """
            next, next step, next steps, next up, next task, what's next, what is next,
            recommended next steps, suggested next steps, remaining, remaining work,
            remaining tasks, remaining items, todo, todos, to do, to-do, open, open points,
            open items, open tasks, open questions, still open, left to do, what's left,
            what is left, not done, not yet done, not included, pending, pending tasks,
            pending changes, follow-up, follow-ups, followups, follow ups, out of scope, deferred,
            known issues, known limitations, known gaps, missing, what's missing, rollout,
            rollout order, rollout steps
            | nächster schritt, nächste schritte, als nächstes, weiteres vorgehen,
            wie es weitergeht, offen, noch offen, offene punkte, offene fragen, offene aufgaben,
            ausstehend, noch zu tun, zu tun, zu erledigen, verbleibend, was fehlt, was noch fehlt,
            was offen ist, was noch offen ist, bekannte probleme
            | prochaine étape, prochaines étapes, étapes suivantes, la suite, à faire,
            reste à faire, ce qui reste, ce qui manque, en suspens, points ouverts,
            questions ouvertes, problèmes connus
            | siguiente, siguiente paso, siguientes pasos, próximo paso, próximos pasos, pendiente,
            pendientes, por hacer, queda por hacer, lo que falta, tareas pendientes,
            puntos abiertos, preguntas abiertas, problemas conocidos
            | próximo passo, próximos passos, a fazer, por fazer, falta fazer, o que falta,
            pendente, pendentes, pendências, em aberto, pontos em aberto, questões em aberto,
            problemas conhecidos
            | далее, дальше, что дальше, следующий шаг, следующие шаги, дальнейшие шаги, осталось,
            осталось сделать, что осталось, открытые вопросы, открытые задачи, нужно сделать,
            надо сделать, не сделано, предстоит, известные проблемы
            | 下一步, 下一步计划, 下一步工作, 后续, 后续步骤, 后续工作, 接下来, 待办, 待办事项,
            待处理, 未完成, 剩余工作, 遗留问题, 已知问题, 下一步計劃, 後續, 後續步驟,
            後續工作, 接下來, 待辦, 待辦事項, 待處理, 剩餘工作, 遺留問題, 已知問題
            | 次, 次に, 次の作業, 次のステップ, 次回, 今後, 今後の予定, 今後の課題, 今後の作業,
            残り, 残作業, 残りの作業, 残課題, 残タスク, 未対応, 未完了, やること, 既知の問題
            | prossimo passo, prossimi passi, da fare, in sospeso, resta da fare, cosa manca
            | 다음, 다음 단계, 다음 할 일, 할 일, 남은 일, 남은 작업, 후속 작업, 미해결, 미완료
            | التالي, الخطوة التالية, الخطوات التالية, المتبقي, ما تبقى, العمل المتبقي,
            المهام المتبقية, للتنفيذ, لم ينجز بعد, الأسئلة المفتوحة, النقاط المفتوحة,
            المشكلات المعروفة""",
        RESULT: """
            result, results, test, tests, tested, test results, verification, verified, validation,
            check, checks | ergebnis, ergebnisse, resultat, geprüft, prüfung, überprüfung,
            verifikation | résultat, résultats, vérification, vérifications, vérifié
            | resultado, resultados, verificación, pruebas, verificado
            | verificação, testes | результат, результаты, итог, итоги, проверка, проверено, тесты
            | 结果, 测试, 测试结果, 验证, 驗證, 測試, 測試結果
            | 結果, テスト, テスト結果, 検証, 確認
            | risultato, risultati, verifica, verificato | 결과, 테스트, 검증, 확인
            | النتيجة, النتائج, الاختبار, الاختبارات, التحقق, الفحص""",
    }.items()
    for word in " ".join(table.split()).replace("|", ",").split(",")
}
"""Label words of eleven languages, with what they label: a type of memory, another part of a
decision, or a part of a closing message. French `modèle` is missing: most often it names a model.
"""
LEADS: Mapping[str, tuple[str, ...]] = {
    type_: tuple(lead.strip() for lead in " ".join(table.split()).replace("|", ",").split(","))
    for type_, table in {
        "decision": """
            we decided to, we decided that, we decided on, we decided against, we decided not to,
            we have decided to, we have decided that, we agreed to, we agreed that, it was decided
            | wir haben entschieden, wir haben beschlossen, wir haben uns entschieden,
            es wurde entschieden
            | nous avons décidé, on a décidé, il a été décidé
            | hemos decidido, decidimos, se decidió
            | foi decidido, nós decidimos | мы решили, решено, было решено
            | abbiamo deciso, è stato deciso
            | 我们决定, 我們決定, 决定 | 決定した | قررنا, تقرر, اتفقنا على""",
        "lesson": """
            we learned, it turned out, turned out, the root cause was, the cause was, root cause
            | wir haben gelernt, es stellte sich heraus, die ursache war, ursache war, grund war
            | nous avons appris, il s'est avéré, la cause était, la cause racine était
            | hemos aprendido, aprendimos, resultó que, la causa era, la causa fue, la causa raíz
            | aprendemos, descobriu-se, a causa era, a causa foi, a causa raiz
            | оказалось, выяснилось, причина была, причиной был, причина в том
            | 原来, 原來, 原因是, 根本原因是, 结果发现, 我们发现, 我們發現, 教训是
            | 原因は, 根本原因は, 教訓は, 分かったこと, わかったこと
            | 알고 보니, 원인은, 근본 원인은, 교훈은, 배운 점은
            | تعلمنا, اتضح, تبين, كان السبب, السبب هو""",
        "next": """
            next step, next up, still open, still missing, still to do, left to do, what remains,
            what is left, not done yet, next we, next i, remaining work, remaining steps
            | als nächstes, als nächster schritt, der nächste schritt, nächster schritt, noch offen,
            offen ist, offen sind, offen bleibt, es fehlt noch, es fehlen noch, noch zu tun,
            zu tun bleibt, es bleibt
            | il reste, reste à, il manque, la prochaine étape, il faut encore
            | queda pendiente, quedan pendientes, queda por, quedan por, falta, faltan,
            el siguiente paso, el próximo paso, todavía falta
            | falta, faltam, resta, ainda falta, o próximo passo, fica pendente, ficam pendentes
            | осталось, остаётся, остается, следующий шаг, следующим шагом, ещё нужно, еще нужно
            | 接下来, 下一步, 还需, 还要, 剩下, 还剩, 尚未, 接下來, 還需, 還要, 還剩
            | 次は, 次に, 残りは, 残って, あとは, 今後は
            | 다음은, 다음 단계는, 다음으로, 남은 것은, 남은 일은, 아직
            | الخطوة التالية, لا يزال, ما زال, بقي, يبقى, المتبقي, لم ينجز بعد""",
    }.items()
}
"""How a sentence begins that says itself what it is; only decisions are memories by that alone."""
TYPES = MEMORY_TYPES
_QUALIFIERS = frozenset(
    """key main final design technical architecture architectural important core our the project
    team wichtige wichtigste zentrale technische unsere die clé clés principale principales
    technique techniques les clave claves principal principais técnica técnicas ключевые ключевое
    главное основные основное""".split()
)
_CJK_QUALIFIER = lazy_pattern(r"^(?:关键|主要|最终|重要|技术|設計|重要な|主な|最終|技術)")
_OPEN = frozenset(
    word.strip()
    for word in " ".join(
        """tbd, todo, n/a, na, none, pending, open, undecided, unknown, yes, no, ok, wip, draft,
        proposed, rejected, deprecated, superseded, withdrawn, reverted, to be decided,
        to be defined, offen, ausstehend, unentschieden, entwurf, vorgeschlagen, abgelehnt, ersetzt,
        veraltet, keine, ja, nein, à décider, à définir, proposé, proposée, rejeté, rejetée,
        remplacé, remplacée, brouillon, aucun, aucune, oui, non, pendiente, por decidir, propuesto,
        propuesta, rechazado, rechazada, reemplazado, borrador, ninguno, ninguna, sí, pendente,
        a definir, a decidir, proposto, proposta, rejeitado, rejeitada, substituído, rascunho,
        nenhum, nenhuma, sim, não, предложено, отклонено, отклонён, заменено, черновик, нет, да,
        待定, 未定, 无, 無, 草案, 提议, 已拒绝, 已取代, 已废弃, なし, 提案, 却下, 廃止, 検討中,
        保留, 미정, 보류, 없음, 초안, 제안, 거부됨, 폐기됨, 네, 아니요, معلق, مؤجل, غير محدد, مسودة,
        مقترح, مرفوض, ملغى, لا يوجد, لا شيء, نعم, لا""".split()
    ).split(",")
)
"""Values that leave a decision open, and states in which a record does not hold."""

_UNSETTLED = tuple(
    phrase.strip()
    for phrase in " ".join(
        """not yet, not made, not decided, no decision, pending, awaiting, waiting for, waiting on,
        to be decided, to be defined, to be determined, to be discussed, to be confirmed,
        we will decide, we'll decide, will decide, will be decided, decide later, see, as above
        | noch nicht, noch keine, noch offen, ausstehend, steht noch aus, warten auf,
        wir entscheiden, wird noch, siehe
        | pas encore, en attente, on décidera, à décider, à définir, voir, cf
        | todavía no, aún no, pendiente de, a la espera, se decidirá, decidiremos, véase, ver arriba
        | ainda não, aguardando, será decidido, ver acima | ещё не, еще не, пока не, ожидает,
        решим, см | 尚未, 还没, 還沒, 待定, 待决, 见上, 如上 | まだ, 未定, 上記, 保留中
        | non ancora, in attesa, da decidere, vedi | 아직, 미정, 보류, 위 참조
        | لم يحسم, لم يتقرر, ليس بعد, قيد الانتظار, سنقرر, انظر""".split()
    )
    .replace("|", ",")
    .split(",")
)
"""How a value begins that puts a decision off, or points elsewhere."""
_NONE = frozenset(
    """none no keine kein aucun aucune ninguno ninguna no nenhum nenhuma nessuna nessuno нет никаких
    没有 無 无 없음""".split()
)
"""Words that say that there is nothing of what a label names."""
_YOU = frozenset("you you're du sie tu vous tú usted você ты вы 你 您 너 당신 أنت أنتم".split())
_AGREED = frozenset("agreed acordado".split())
_MARK = lazy_pattern(
    "^(?:[\u2600-\u27bf\u2b00-\u2bff\ufe0f\u231a-\u23ff\U0001f000-\U0001faff]+\\s*)+"
)
_NUMBER = lazy_pattern(
    r"(?i)^(?:(?:Q|D|ADR|RFC)[ -]?)?#?\d+[a-z]?(?:\.\d+)*\s*(?:[:.)–—-]+\s*|\s+|$)"
)
_NAMED = lazy_pattern(r"(?i)^(?P<kind>Q|D|ADR|RFC)[ -]?\d")
_BRACKETS = lazy_pattern(
    r"(?:\*\*)?[\[【](?P<label>[^\W\d_][^\[\]【】\n]{0,48})[\]】](?:\*\*)?[:：]?(?![(\[])\s*"
)
_LABEL = lazy_pattern(
    r"(?P<bold>\*{1,3}|_{1,3})?(?P<label>[^\W\d_][^*_:：|`\n]{0,48}?)\s*(?P<colon>[:：])?\s*"
    r"(?(bold)(?P=bold))\s*(?(colon)|(?P<mark>[:：]|[–—]|-{1,2}(?=\s)))\s*"
)
_ANY_LABEL = lazy_pattern(
    r"\s*(?:(?:\*\*|__)[^*_\n]{1,48}(?::(?:\*\*|__)|(?:\*\*|__)\s*[:：])"
    r"|[A-Z]\w{2,15}(?: \w{2,15})?: )"
)
_SUFFIX = lazy_pattern(r"(?:\s*[#№]?\d+(?:\.\d+)*|\s*[(（][^()（）]{1,40}[)）])+$")
_DATED = lazy_pattern(r"\d{4}-\d\d|\d{1,2}[./ ]")
_BOLD = lazy_pattern(r"(?:\*\*|__).+(?:\*\*|__):?")
_TICK = lazy_pattern(r"^\[(?P<mark>[ xX])\]\s+")
_CALLOUT = lazy_pattern(r"^\[!(?P<type>[^\]\n]{1,40})\][+-]?[ \t]*(?P<title>[^\n]*)(?:\n|$)")
_FIGURE = lazy_pattern(r"[*_]*[\d.,%×/ –+-]*\d[\d.,%×/ –+-]*[*_]*(?: ?\w{1,3})?")
_CODE = lazy_pattern(r"`[^`]*`")
_WORDS = lazy_pattern(r"[^\W_]+(?:['’-][^\W_]+)*")
_STRUCK = lazy_pattern(r"~~.+?~~")
_TEMPLATE = lazy_pattern(
    r"\{\{[^{}\n]{0,80}\}\}|\{(?=[^{}\n]{0,80} )[^{}\n]{1,80}\}|<(?=[^<>\n/]{0,80} )[^<>\n]{1,80}>"
    r"|\A[\"'*_ ]{0,4}(?:<[^<>]{0,200}>|\[[^\[\]]{0,200}\]|\{[^{}]{0,200}\})[\"'*_ .]{0,4}\Z"
    r"|\bTBD\b|\A\W{0,9}TODO\b"
)
"""A placeholder: `<what was decided>`, `{title of option 1}`, `[describe it]`."""
_FILLED_IN = lazy_pattern(r"\{\{ ?[A-Z][A-Z0-9_]* ?\}\}")
"""A name in capitals for which a program puts in a text."""
_UNDONE = lazy_pattern("^\\W*[\u23f3\u231b\u2753\u274c\U0001f6a7]")
"""Hourglass, question mark, cross, barrier: the mark before an item that is not settled."""
_ASIDE = lazy_pattern(r"[(（](?P<text>[^()（）]{1,40})[)）]\W*$")
_CHOSEN = lazy_pattern(r"^[\"“](?P<option>[^\"”\n]{2,160})[\"”],?\s*")


class Labelled(NamedTuple):
    """One labelled statement, and where it stands."""

    type: str
    """One of `TYPES`."""
    text: str
    line: int
    """From 1."""
    reason: str = ""
    topic: str = ""
    """The question or record that it answers, if there is one."""


@dataclass(slots=True)
class _Part:
    """A heading, or what stands for one, and the statements read below it."""

    title: str = ""
    type: str = ""
    """What the heading labels."""
    level: int = 0
    asks: bool = False
    """Whether the heading is a question or decision with a number, or ends as a question."""
    entries: list[Labelled] = field(default_factory=list)
    line: int = 1
    led: bool = False
    """Whether a paragraph was read, and whether it only leads to a list."""
    closed: bool = False


def label_of(text: str) -> str:
    """What a label labels, or an empty string if it is not in the table."""
    if len(text) > LONGEST_LABEL:
        return ""
    name = unicodedata.normalize("NFKC", text).casefold().strip(" \t:.*_#")
    name = _SUFFIX.sub("", name)
    if name in LABELS:
        return LABELS[name]
    rest = " ".join(word for word in name.split() if word not in _QUALIFIERS)
    return LABELS.get(rest) or LABELS.get(_CJK_QUALIFIER.sub("", rest)) or ""


def labelled(text: str) -> list[Labelled]:
    """The labelled statements of a markdown text, in order.

    None if its own status is open, or if it is a template with `{{names}}` to be filled in.
    """
    if len(text) > LARGEST or _FILLED_IN.search(text):
        return []
    if is_line(text) and not (_leads(text) or starts(text)[0] or _ANY_LABEL.match(text)):
        return []
    from markdown_it.tree import SyntaxTreeNode

    from kinen.text.frontmatter import read_frontmatter
    from kinen.text.parse import split_lines

    lines = split_lines(text)
    front = read_frontmatter(lines)
    tree = SyntaxTreeNode(parsed("\n".join(lines[front.end :])))
    return _Reader(tree, front.values, front.end).read()


def _leads(text: str) -> bool:
    """Does a text have the words with which a sentence tells a decision?"""
    low = text.casefold()
    return any(map(low.__contains__, LEADS["decision"]))


def value_of(markdown: str, type_: str = "decision") -> str:
    """The plain statement in the value of a label, or an empty string if it says nothing."""
    value = _MARK.sub("", markdown.strip())
    aside = _ASIDE.search(value)
    if _UNDONE.match(markdown) or (aside and aside["text"].casefold() in _OPEN):
        return ""
    if _TEMPLATE.search(_CODE.sub("code", value)) or _STRUCK.fullmatch(value):
        return ""
    whole = ""
    for sentence in sentences(_STRUCK.sub("", value), wrapped=True):
        if sentence.endswith(QUESTION) and not whole:
            return ""
        longer = f"{whole} {sentence}".strip()
        if len(longer) > LONGEST and whole:
            break
        whole = longer
    if is_open(whole):
        return ""
    # A pattern is often an expression or the name of a check, which is no statement; nor is a link.
    least = 3 if type_ == "pattern" else 1
    prose = " ".join(word for word in _CODE.sub(" ", whole).split() if "/" not in word)
    return excerpt(whole.strip(), LONGEST) if size(prose) >= least else ""


def is_open(value: str) -> bool:
    """Does a value only say that there is none, or that it is not decided?"""
    return value.casefold().strip(" .!…。！\"'()-") in _OPEN


def is_settled(value: str, type_: str = "decision") -> bool:
    """Does a labelled value say something, and not that nothing is decided, or where to look?"""
    low = value.casefold().replace("’", "'")
    words = _WORDS.findall(low)
    if not words or _begins(low, _UNSETTLED):
        return False
    if words[0] in _NONE:  # `none yet`, `No decisions were made`
        named = any(label_of(word) == type_ for word in words[1:4])
        return not named and (words[0] != "none" or len(words) > 4)
    return type_ != "decision" or words[0] not in _YOU


def _begins(low: str, phrases: tuple[str, ...]) -> bool:
    """Does a text begin with one of some phrases, as whole words where words are spaced?"""
    return any(
        low.startswith(phrase) and (phrase[0] > "\u3000" or not low[len(phrase) :][:1].isalnum())
        for phrase in phrases
    )


def heads(line: str) -> str:
    """What a heading or a line before a list labels: a label may go on, as `Next steps for you`."""
    words = plain(line.lstrip("# ")).rstrip(":： ").split()[:LONGEST_HEAD]
    parts = (" ".join(words[:end]) for end in (len(words), *range(len(words) - 1, 1, -1)))
    return next(filter(None, map(label_of, parts)), "")


def starts(line: str) -> tuple[str, str]:
    """What the label at the start of a line labels, and the rest of the line."""
    line = _MARK.sub("", line.lstrip())
    head = line[:LONGEST_LABEL]
    match = _BRACKETS.match(head)
    if not match and any(map(head.__contains__, ":：–—-")):  # one of them ends every label
        match = _LABEL.match(head)
    what = label_of(match["label"]) if match else ""
    return (what, line[match.end() :]) if match and what else ("", line)


class _Reader:
    """Reads one document from top to bottom."""

    def __init__(self, tree: SyntaxTreeNode, values: Mapping[str, Any], before: int) -> None:
        self._tree = tree
        self._values = values
        self._before = before
        self._parts: list[_Part] = []
        self._above: dict[int, _Part] = {}
        self._status = str(values.get("status") or "")
        self._part = self._begin(_Part())

    def read(self) -> list[Labelled]:
        for node in self._tree.children:
            self._block(node)
        if self._status.casefold().strip(" .*_").split(" ")[0].strip(",;:(") in _OPEN:
            return []
        record = self._record()
        result = []
        for part in self._parts:
            topic = record or (part.title if part.asks else "")
            for entry in part.entries:
                if not entry.type:
                    continue  # a heading `D3: …` without a reason or a decision below it
                text = _complete(entry, part, topic)
                if size(f"{topic} {text}") > 1:
                    result.append(entry._replace(text=text, topic=topic))
        return list(dict.fromkeys(result))

    def _record(self) -> str:
        """The title of a decision record: a document with one main heading and its decision."""
        titles = [part for part in self._parts if part.level == 1]
        sections = [part for part in self._parts if part.type in TYPES and part.level > 1]
        decides = [part for part in sections if part.type == "decision" and part.entries]
        if len(titles) != 1 or len(decides) != 1 or len(sections) > 1:
            return ""
        if not (self._status or _NUMBER.match(titles[0].title)):
            return ""
        return _NUMBER.sub("", titles[0].title).strip(" :.")

    def _begin(self, part: _Part) -> _Part:
        self._parts.append(part)
        return part

    def _line(self, node: SyntaxTreeNode) -> int:
        place = node
        while not place.map and place.parent:
            place = place.parent
        return self._before + 1 + (place.map[0] if place.map else 0)

    def _block(self, node: SyntaxTreeNode) -> None:
        if node.type == "heading":
            self._heading(node)
        elif node.type == "paragraph":
            self._paragraph(_inline(node), self._line(node), top=True)
        elif node.type.endswith("_list"):
            self._drop_introduction()
            self._list(node, self._open_type())
        elif node.type == "blockquote":
            self._callout(node)
        elif node.type == "table":
            self._drop_introduction()
            self._table(node)

    def _heading(self, node: SyntaxTreeNode) -> None:
        written = _inline(node)
        level = int(node.tag[1:])
        number = _NAMED.match(written)
        bare = _NUMBER.sub("", _MARK.sub("", written))
        what, rest = starts(bare)
        title = plain(bare).strip(" :")
        self._above = {depth: part for depth, part in self._above.items() if depth < level}
        type_ = label_of(title) if not rest or not what else ""
        type_ = "" if type_ == RESULT else type_
        above = next((part for part in reversed(self._above.values()) if part.type in TYPES), None)
        asks = bool(number) or title.endswith(QUESTION)
        part = _Part(title if not type_ else "", type_, level, asks, line=self._line(node))
        if type_ and not part.title:
            nearest = next(reversed(self._above.values()), None)
            part.title = nearest.title if nearest else ""
            part.asks = nearest.asks if nearest else False
        part.title = plain(written).strip(" :") if level == 1 and not type_ else part.title
        self._part = self._above[level] = self._begin(part)
        if what in TYPES and rest:
            self._add(what, rest, part.line)
            part.title = ""
        elif number and number["kind"].upper() == "D":
            part.entries.append(Labelled("", title, part.line))
        elif above and not type_ and not asks:
            part.type = f"below {above.type}"  # `### Use SQLite` under `## Decisions`

    def _open_type(self) -> str:
        part = self._part
        return part.type if part.type in TYPES and not part.closed else ""

    def _paragraph(self, content: str, line: int, *, top: bool) -> None:
        """Labelled lines; under a label's heading, the first paragraph."""
        lines = content.split("\n")
        heads = [n for n, text in enumerate(lines) if starts(text)[0] or _ANY_LABEL.match(text)]
        if len(lines) > 1 and label_of(lines[0]) in TYPES and lines[1].startswith((": ", "：")):
            self._add(label_of(lines[0]), " ".join(lines[1:])[1:], line)  # a definition list
            return
        for start, end in pairwise([*heads, len(lines)]):
            what, rest = starts(lines[start])
            value = "\n".join([rest, *lines[start + 1 : end]]).strip()
            if what == "status":
                self._status = self._status or plain(value)
            elif what == "why":
                self._explain(value)
            elif what in TYPES and value and not _is_talk(lines[start]):
                self._add(what, value, line + start)
            elif what in TYPES and top and len(lines) == 1:
                self._open(what, line)
        if not heads:
            self._led(content, line)
        if top and not heads:
            self._plain_paragraph(content, line)

    def _plain_paragraph(self, content: str, line: int) -> None:
        """A paragraph without a label: a title in bold, or what the heading above it labels."""
        part = self._part
        if label_of(content) in TYPES and _BOLD.fullmatch(content.strip()):
            self._open(label_of(content), line)
        elif part.type == "status":
            self._status = self._status or plain(content)
        elif part.type == "why":
            self._explain(content)
        elif part.type.startswith("below "):
            if not part.closed and value_of(content):
                part.closed = True
                self._add(part.type.partition(" ")[2], f"{part.title}: {content}", line)
        elif self._open_type() and not part.led:
            part.led = True
            if not content.rstrip().endswith((":", "：")):
                self._add(part.type, content, line)
                part.closed = True
        elif part.level == TITLE:
            part.closed = True

    def _open(self, type_: str, line: int) -> None:
        """Begin what a line labels that stands for a heading."""
        above = self._part
        self._part = self._begin(_Part(above.title, type_, TITLE, above.asks, line=line))

    def _led(self, content: str, line: int) -> None:
        """Sentences that begin with `We decided`, where no label covers the whole anyway."""
        if self._open_type() or not _leads(content):
            return
        for sentence in sentences(content, wrapped=True):
            if sentence.casefold().startswith(LEADS["decision"]):
                self._add("decision", sentence, line)

    def _drop_introduction(self) -> None:
        """Below the title of a page, a paragraph before a list or table is about the page."""
        if self._part.level == 1 and self._part.type in TYPES:
            self._part.entries.clear()

    def _list(self, node: SyntaxTreeNode, type_: str) -> None:
        for item in node.children[:MOST_ITEMS]:
            first = next((child for child in item.children if child.type == "paragraph"), None)
            content = _inline(first) if first else ""
            tick = _TICK.match(content)
            if tick and tick["mark"] == " ":
                continue  # not decided yet
            content = content[tick.end() :] if tick else content
            line = self._line(item)
            what, rest = starts(content)
            nested = [child for child in item.children if child.type.endswith("_list")]
            if what in TYPES and not rest.strip():
                for below in nested:
                    self._list(below, what)
                continue
            self._paragraph(content, line, top=False)
            if type_ and not what and (not nested or not content.rstrip().endswith((":", "："))):
                self._add(type_, content, line)
            for below in nested:
                self._list(below, "")
        if type_ and self._part.type == type_:
            self._part.closed = True

    def _callout(self, quote: SyntaxTreeNode) -> None:
        texts = [node.content for node in quote.walk() if node.type == "inline"]
        head = _CALLOUT.match(texts[0]) if texts else None
        if head is None:
            return
        texts[0] = texts[0][head.end() :]
        what = label_of(plain(head["title"]))
        rest = ""
        if what not in TYPES:
            what, rest = starts(head["title"])
        if what not in TYPES:
            what = label_of(head["type"])
            rest = head["title"]
        if what in TYPES:
            values = [rest, *texts]
            parts = [value for value in values if value.strip() and not _TEMPLATE.search(value)]
            self._add(what, "\n".join(_ended(part) for part in parts), self._line(quote))

    def _table(self, table: SyntaxTreeNode) -> None:
        rows = [
            [_inline(cell) for cell in row.children] for row in table.walk() if row.type == "tr"
        ]
        heads = [label_of(plain(cell).strip(" :?")) for cell in rows[0]] if rows else []
        types = [n for n, what in enumerate(heads) if what in TYPES]
        if not types or len(heads) < 2:
            return
        at = {what: n for n, what in reversed([*enumerate(heads)]) if what}
        if not heads[0] and size(plain(rows[0][0])):
            at.setdefault("topic", 0)  # the first column says what a row is about
        if heads[types[0]] != "decision" and _is_of_figures(rows[1:], types[0]):
            return
        below = self._begin(_Part(level=self._part.level))  # a row says itself what it is about
        for number, row in enumerate(rows[1 : MOST_ITEMS + 1]):
            cells = [*row, *[""] * (len(heads) - len(row))]
            part = {what: cells[n] for what, n in at.items()}
            first = plain(part.get("status", "")).casefold().split(" ")[0]
            choice = cells[types[0]]
            topic = plain(part.get("topic", ""))
            if part.get("choice"):
                topic = plain(choice)
                choice = part["choice"]
            text = value_of(choice)
            if first in _OPEN or not is_settled(text, heads[types[0]]):
                continue
            topic = "" if topic.isdigit() or not size(topic) or bool(_DATED.match(topic)) else topic
            text = f"{topic}: {text}" if topic else text
            if size(text) > 1 and not _NUMBER.fullmatch(text):
                reason = plain(part.get("why", ""))
                line = self._line(table) + 2 + number
                below.entries.append(Labelled(heads[types[0]], text, line, reason))

    def _add(self, type_: str, value: str, line: int) -> None:
        chosen = _CHOSEN.match(value) if type_ == "decision" else None
        if chosen and not _TEMPLATE.search(value):
            value = f"{chosen['option']}, {value[chosen.end() :]}".rstrip(" ,")
        text = value_of(value, type_)
        text = text if is_settled(text, type_) else ""
        part = self._part
        headed = part.entries and not part.entries[0].type
        if text and headed:
            del part.entries[0]  # the heading of `D3: …` is the question of a decision below it
        if text:
            part.entries.append(Labelled(type_, text, line))

    def _explain(self, value: str) -> None:
        """Give a reason to the decision before it."""
        reason = value_of(value)
        part = self._part
        if part.type == "why":  # a section of its own, beside that of the decision
            beside = [other for other in self._parts if other.entries and other is not part]
            part = beside[-1] if beside and beside[-1].level == part.level else part
        if reason and part.entries and not part.entries[-1].reason:
            last = part.entries[-1]
            part.entries[-1] = last._replace(type=last.type or "decision", reason=reason)


def _complete(entry: Labelled, part: _Part, topic: str) -> str:
    """The text of a statement with what it is about, where it does not say that itself."""
    title = topic or part.title
    alone = not title or entry.text.casefold().startswith(title.casefold()[:40])
    if alone or not entry.type or (not topic and size(entry.text) >= SHORT):
        return entry.text
    return f"{title} {entry.text}" if title.endswith(QUESTION) else f"{title}: {entry.text}"


def _is_of_figures(rows: list[list[str]], label: int) -> bool:
    """Does a table measure what its label column names? Half of the other cells are numbers."""
    others = [cell for row in rows for n, cell in enumerate(row) if n != label and cell.strip()]
    return sum(bool(_FIGURE.fullmatch(cell.strip())) for cell in others) * 2 >= max(1, len(others))


def _is_talk(line: str) -> bool:
    """Is a line a reply, as `Agreed: I will look again`, and no record of what was agreed?"""
    words = _WORDS.findall(line.casefold())[:2]
    return len(words) == 2 and words[0] in _AGREED and words[1] in {*_YOU, "i", "i'll", "i'm"}


def _ended(text: str) -> str:
    text = text.rstrip()
    return text if not text or text[-1] in ".!?:;…。！？" else f"{text}."


def _inline(node: SyntaxTreeNode | None) -> str:
    """The text of a node, its markup included."""
    if node is None:
        return ""
    return next((child.content for child in node.walk() if child.type == "inline"), "")
