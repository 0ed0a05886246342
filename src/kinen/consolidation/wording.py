"""Makes a sentence that stands alone, or nothing: what a reader without the context understands."""

from __future__ import annotations

import re

from kinen.consolidation.prose import Sentence
from kinen.journal.statements import is_step
from kinen.markdown.sentences import is_certain, stands_alone, weight

SHORTEST = 40
SHORTEST_RULE = 20
LONGEST = 300
"""Characters of a memory."""
FEWEST_WORDS = 4
"""Words outside of code that a memory has at least."""
LEAST_WEIGHT = 4
"""Words of a memory that say something, as `weight` counts them."""
LEAST_PROSE = 2
"""Those of them outside of code, where there is code: `use X instead of Y` is an edit."""

_QUOTATION = re.compile(r"[\"“][^\"“”]{1,300}[\"”]")
_CODE = re.compile(r"`[^`]{1,300}`")
_OPENING = re.compile(
    r"(?i)^(?:(?:so|but|and|also|however|though|still|now|then|thus|therefore|hence|ok|okay|yes|yep"
    r"|yeah|no|nope|right|well|actually|basically|essentially|indeed|great|good|perfect|excellent"
    r"|done|fixed|correct|exactly|confirmed|unfortunately|fortunately|importantly|note|nb|important"
    r"|warning|(?:one|another) (?:\w+ )?(?:caveat|thing|note|detail|point|finding)"
    r"(?: worth (?:flagging|noting|mentioning))?|caveat"
    r"|in short|in summary|in other words|that said|as a result|good catch"
    r"|good question|short answer|makes sense|i see|interesting|hmm|wait|ah|the key insight is"
    r"|to be clear|for context|additionally|furthermore|moreover|meanwhile|finally|overall"
    r"|because of this|remember|for the record|why|reason|discovered (?:while|during) [^:]{3,40})"
    r"\b(?:[,.!:;]| [–—-]{1,2}) {0,3}"
    r"|(?:so(?! far)|but|and|also|then|thus|therefore|hence|remember that|note that"
    r"|keep in mind that|bear in mind that|please note that|that means|this means|which means"
    r"|it means|(?:as )?it turn(?:s|ed) out(?: that)?|turn(?:s|ed) out(?: that)?|please) ){1,4}"
)
_COUNT = re.compile(r"^(?:\d{1,2}[.)]|[A-Z]{1,2}\d{1,2}:) (?=\S)")
"""The number of a sentence in a list: `8. `, `H4: `."""
_SHELL = re.compile(
    r"(?i)^(?:the|an?) (?:(?:actual|real|underlying|main|core|only|remaining|other) ){0,2}"
    r"(?:issue|problem|reason|catch|trick|point|fact|caveat|gotcha|difference)(?: here| now)?"
    r"(?: is| was|'s) (?:(?:that |because |simply |just ){1,2}|(?!an? |the ))"
    r"(?!to\b|not\b|in\b|with\b|on\b|at\b)"
)
_RESOLVED = re.compile(
    r"(?i)^(?:this|that|it)(?:'s| is| was) (?P<what>(?:an? |the )?[^.;:–—]{0,50}?\b(?:bug"
    r"|issue|problem"
    r"|limitation|conflict|quirk|behaviou?r|restriction|requirement|convention|design|trade-?off))"
    r"(?: [–—-]{1,2} |: )(?P<rest>\S.{25,})$"
)
_UNNAMED = re.compile(
    r"^(?:When|If|Once|While) the (?:field|component|flag|option|value|file|key|button|dialog|form"
    r"|request|response|test|command|function|parameter|argument|entry|row|item)s? (?:is|are|was"
    r"|were|has|have)\b"
    r"|^(?:[Tt]he )?(?i:only|best|main|key|latest|real|correct|right|safest|cleanest|simplest"
    r"|primary|biggest|other|missing)(?: [a-z-]+){1,3} (?:is|are|was|were)\b"
)
"""Speaks of the only or best of something, or of a field or file, that was named before."""
_UNKNOWN = re.compile(
    r"^[A-Za-z'-]+ (?:(?!(?:because|but|when|if|so|that|and|unless|while|where)\b)[a-z'-]+ ){0,5}"
    r"(?:it|them|they)\b(?!')"
)
"""`The maintainer resolved it by …`: nothing before the pronoun has a name."""
_NOUNS = (
    r"(?:project|repo|repository|codebase|package|workspace|monorepo|machine|environment|app"
    r"|application|service|site|team|org|organization|branch protection)"
)
_POINTS_BACK = re.compile(
    rf"(?i)^(?:(?:it|its|they|their|he|she|them|these|those|such)\b|(?:this|that)\b(?! {_NOUNS}\b)"
    r"|(?:here|there)(?:'s|\b)|both\b|neither\b|the (?:same|former|latter|above|following|first"
    r"|second|third|last|other|next|previous|remaining|rest)\b"
    r"|the (?:new|old|fix|change|test|failure|error"
    r"|issue|problem|bug|solution|remaining|rest|result|output|plan|task|answer|approach|reason"
    r"|root cause|cause|culprit|diff|commit|finding|comment|review|reviewer|user|only|following"
    r"|current|check|code|function|file|script|command|line|value|second|helper|method|module|class"
    r"|field|warning|message|migration|hook|build|branch|table|page|query|type|server|config"
    r"|component|endpoint|handler|button|dialog|form|modal|controller|job|workflow|prop|list|item"
    r"|entry|row|column|option|flag|parameter|argument|request|response|caller|parser|wrapper|loop"
    r"|condition|interface|constraint|default)s?"
    r"(?: (?:is|was|are|were|has|had|have|fails?|failed|pass\w*|now|still|also|needs?|should|will"
    r"|would|can|could|does|did|doesn't|didn't|isn't|wasn't|uses?|itself|already|just|never|works?"
    r"|looks?|shows?|says?|said|expects?|from|in|on)\b|,|:)"
    r"|(?:fixed|solved|resolved|done|worked around|caused) (?:by|with|via)\b"
    r"|(?:one|two|three|four|all|some|most|none|each|any)(?: \w+){0,2} (?:of (?:them|these|those)"
    r"|here|above)\b|which\b|because\b|since\b|as\b(?! of)|instead\b|otherwise\b|same\b|likewise\b"
    r"|(?:let's|we should|we'll) \w+ (?:it|them|this|that|these|those)\b"
    r"|one (?:existing|other|more)\b"
    r"|similarly\b|either\b|else\b|or\b)"
)
_ENDS_BACK = re.compile(r"(?i)^[^`]*\bto \w+ (?:it|them|this|that)[.!]?$")
"""Ends with what is to be done to something that has no name."""
_CAUSE = re.compile(
    r"(?i)^the (?:root cause|cause|culprit|failure|bug|error|crash|problem|issue)s?"
    r"(?: is| was|: | were)(?: caused by| due to)?\b"
)
"""A cause is understood without what it caused."""
_LOCAL = re.compile(
    r"(?i)\b(?:above|below|as (?:mentioned|discussed|requested|noted|expected|shown)"
    r"|you(?:'re|'ve|'ll"
    r"|'d|r|rs)?|let me|let's see|i'm|i'll|i'd|i am|i will|i need|i can|i should|i want|my|me|mine"
    r"|right now|at the moment|for now|currently|this (?:time|turn|session|conversation|message"
    r"|pass|run|step|task|pr|commit|branch|change|review|round|finding|feature|file|function|test"
    r"|one|error|approach|fix|issue|plan)|that (?:one|file|function|test|error|change|fix|issue"
    r"|is why|was why|commit|branch|finding)|these (?:changes|tests|files|errors|two|findings)"
    r"|those (?:changes|tests|files|errors|two)|(?:first|second|third|other|last) (?:finding"
    r"|comment|point|item|issue|question|option|one)|previous(?:ly)?|earlier|again|yesterday|today"
    r"|tomorrow|ours|as well|prior|(?:two|three|both) (?:issues|problems|things|options|fixes)"
    r"|next step|still need|the (?:prompt|instructions|skill|user|linter|reviewer|pr|subagent"
    r"|transcript|plan (?:says|file|mode)))"
    r"\b(?!-)"
)
_RESULT = re.compile(r"(?i)\b(?:tests?|checks?|lint|build)\b.{0,30}\b(?:pass\w*|green|clean)\b")
_OWN_CHOICE = re.compile(
    r"(?i)^i(?:'ve| have| also| then| had){0,2} (?=(?:decided|chose|opted|kept|used|switched"
    r"|left|put"
    r"|replaced|moved|made)\b)"
)
_OWN_DEED = re.compile(r"\b(?:I|I've)\b(?!/)")
_RANKED = re.compile(
    r"(?i)^(?:critical|high|medium|low|p[0-3]|blocker|major|minor|nit)(?:/\w{1,10})?"
    r"(?: \([^)]{1,30}\))?"
    r"(?: [–—-])?:? "
)
"""How the findings of a review begin."""
_WAS = re.compile(
    r"(?i)\b(?:was|were) (?:too \w+|wrong|broken|missing|incorrect|incomplete)\b.{0,160}\bbecause\b"
    r"|\b(?:was|were) caused by\b"
)
"""A finding in the past tense, with its cause: it was found right, and is over."""
_FOUND = re.compile(
    r"(?i)\broot cause\b|^Why "
    r"|\b(?:decided|agreed|chose|opted|settled) (?:to|on|for|against|that)\b"
)
"""What was found out or decided holds, whatever the tense."""
_ASIDE = re.compile(r"\([^()]{1,200}\)|[\"“][^\"“”]{1,300}[\"”]")
_MOMENT = re.compile(
    r"(?i)\b(?:now|still|currently|already|yet|just|then|correctly|recently|initially|first|finally|until)\b"
    r"|\b(?:is|are|'s|'re) (?:not |also |actually )?(?!missing\b)[a-z]+ing\b"
    r"|\b(?:has|have) (?:not )?(?:been )?[a-z]+ed\b"
)
"""The moment at which something was said: adverbs, the progressive, the perfect."""
_PAST = re.compile(
    r"(?i)\b(?:was|were|wasn't|weren't|had|hadn't|did|didn't|couldn't|could not|got|ran|went|left"
    r"|took|saw|came|broke|became|began|gave|lost|wrote|showed|failed|tried)\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bnot )(?<!\bas )(?<!\bget )(?<!\bgets )\b[a-z]{3,20}ed"
    r" (?:the|an?|its|it|because|due|that|to|different|from|with)\b"
)
"""Verbs in the past tense: what happened."""
_OPINION = re.compile(r"(?i)^(?:always|never)\b|\bshould(?:n't)?\b(?! (?:always|never)\b)")
"""What an agent would like, unless somebody agreed."""
_LEANS = re.compile(
    r"(?i)\balso (?:works?|needs?|has|have|is|are|does)\b|\bhere\b|, so it must\b|^the agent\b"
    r"|\b(?:all|the|these|those) (?:two|three|four)\b|^all \d|\beither\b.{3,120}\bor\b"
    r"|^(?:rather than|instead of)\b(?:[^,]*, (?:because|since|so|as)\b|[^,]*$)"
    r"|^(?:faster|slower|better|cleaner|simpler|smaller|larger|safer|easier|more|less|fewer)\b"
)
"""Leans on what was said before, on the place where it was said, or on a clause that is missing."""
_REVIEWED = re.compile(
    r"(?i)\bnot (?:properly|correctly|quite)\b|\bmust pass\b.{0,20}\bnew\b|\bviolates?\b|\bAC ?#?\d"
    r"|\bwithout (?:specifying|saying)\b|\b(?:is|are) (?:empty|ready|present|complete|green)\b"
    r"|\bfound (?:an?|one|two|three|the) (?:issue|problem|bug)"
)
"""The finding of a review: it holds until it is fixed."""
_DEED = re.compile(
    r"(?:[A-Z][a-z]+ed|Kept|Chose|Made|Left|Built|Set|Put|Wrote|Split)\b"
    r"(?!.*\b(?:is|are|do|does|can|cannot|must|should|needs?|requires?)\b)"
    r"|No new\b|[A-Z][a-z]+s (?:the|an?|its)\b"
)
"""How a line of a list of changes begins."""
_IS_NOW = re.compile(r"\b(is|are) now\b(?! \w+ing\b)")
"""What is now so is so."""
_OPEN_POINT = re.compile(
    r"(?i)^(?:(?:not (?:done|yet)|next(?: steps?)?|to-?do|pending|remaining|open|blocked"
    r"|follow[- ]?ups?|question)\b[^:]{0,30}|status|title|result|verification"
    r"|validation|tests?|files?|commits?"
    r"|branch):"
)
_NUMBERED_LABEL = re.compile(
    r"(?i)^(?:fix|change|step|phase|task|issue|problem|part|bug)(?: | ?#)\d{1,2}"
    r"(?:\s{0,2}[–—:-]+\s{0,2}|$)"
)
"""`Fix 1 — engine.ts`: the number says nothing outside of its list."""
_EMPTY_LABEL = re.compile(
    r"(?i)(?:fix(?:ed)?|note|result|why|cause|root cause|reason|problem|issue|solution|important"
    r"|summary"
    r"|changed?|updated?|added|removed|what|how|impact|details?|one caveat|caveat|bug|error|finding"
    r"|observation|conclusion|answer|yes|no|done|status|key point"
    r"|user (?:feedback|correction).{0,20}"
    r"|rationale|decision|severity|lessons?(?: learned)?|gotcha"
    r"|(?:step|phase|task|option|item|part) \w{1,3})"
)
_ORDER = re.compile(
    r"(?i)^(?:add|fail|fall|leave|probe|decide|keep|use|require|return|make|update|remove|set|run"
    r"|create|ensure"
    r"|support|show|send|validate|replace|reject|accept|don't|do not|do|move|merge|deploy|rename"
    r"|document|treat|prefer|expose|extend|emit|write|change|fix|split|consider|implement|preserve"
    r"|retain|avoid|introduce|define|build|check|verify|test|skip|drop|store|pass|call|start|stop"
    r"|put|let|tighten|normalize|plan|switch|allow|map|mark|log|read|parse|wrap|apply|enforce|open"
    r"|close|delete|include|exclude|provide|give|render|convert|generate|register|wire|refactor"
    r"|re-?\w+|surface|never|always|adopt)\b(?! (?:is|are|was|were)\b)"
)
"""A sentence in the imperative: of an agent it is a proposal."""
_CODE_LABEL = re.compile(r"^(?:[^:]{0,40}[`.][^:]{0,40}: |In `[^`]{1,80}`, )")
"""A file or a name before what is to be done about it."""
_CHANGE = re.compile(
    r"(?i)^(?:removed|added|updated|simplified|documented|wired|renamed|extracted|refactored|cleaned"
    r"|adjusted|changed|implemented|created|introduced|converted|made|moved|rewrote|extended"
    r"|improved"
    r"|dropped|used|set|switched|replaced|ran|verified|confirmed|wrote|tightened|hardened|unified"
    r"|unifying|fixed|clarified|adds|removes|updates|deleted|bumped|now|no need|not |caught"
    r"|successfully)\b"
    r"|^[a-z-]+ed (?:`|(?:the|an?|its|our|their|all|both|every|each|some|how|what|from|into|up)\b)"
    r"|^[a-z]+ing (?:the|an?) "
)
"""A line of a list of changes: it tells what was done, not what holds."""
_SUBJECTLESS = re.compile(
    r"(?i)^(?:fails|probes|rejects|falls|returns|uses|adds|sends|keeps|makes|gets|runs|shows|fixes|handles|allows|ensures"
    r"|prevents|requires|means|works|avoids|takes|gives|goes|stays|remains|supports|provides|still"
    r"|asserts|covers|checks|triggers|calls|creates|reads|writes|loads|opens|renders"
    r"|only|expected|defined|called|based)\b(?! (?:because|when|if)\b)"
)
_TASK = re.compile(
    r"(?i)^(?:just|add|write|create|fix|implement|run|commit|push|update|check|verify|test|review|look"
    r"|investigate|find|show|give|make sure|ensure|merge|deploy|rebase|open|close|delete|build"
    r"|generate|refactor|continue|rerun|restart|install|try|get|take|fetch|pull|search|read|help"
    r"|explain|analy[sz]e|compare|set up|port|convert|improve|confirm"
    r"|clean up|tidy|simplify|while (?:that|this|it|you)|we need to (?!not|never|always|only)"
    r"|i (?:know|see|like|do|think|thought|am|was|have|also|just))\b"
)
"""What a user wants done once, or only tells."""
_ERROR = re.compile(
    r"(?i)^(?:\w+: )?(?:failed to|error|unable to|could not|cannot|invalid|missing|uncaught"
    r"|unexpected|fatal)\b(?=.*:)"
)
"""The message of an error, which a user pasted."""
_QUESTION = re.compile(
    r"(?i)^(?:(?:wait|hmm|so|ok|okay|but|and|also)\b[, ]{1,3}){0,2}"
    r"(?:is|are|was|were|does|did|why|what|how|where|which|who"
    r"|(?:do|can|could|would|will|should)(?! (?:not|never|always|only)\b)|shouldn't|isn't"
    r"|aren't|doesn't|don't we|can't|won't)\b"
)
"""A question, also without its mark: people who type to an agent often leave it out."""
_PROPOSAL = re.compile(
    r"(?i)^(?:should|must|at (?:a )?minimum|at least|ideally|suggest(?:ed|ion)|action"
    r"|recommend(?:ed|ation)|option|proposal|idea|alternative|follow-up"
    r"|optional|residual|minor|needs? to|the stated|(?:even )?if|unless|e\.g|i\.e|for example"
    r"|for instance|whether|suppose|assuming|worse|either|assumption|test"
    r"|simplest|easiest|best|cleanest|safest|[A-H] [–—-]+ (?=[A-Z])"
    r"|the (?:simplest|easiest|best|cleanest|proper|right) (?:fix|solution|option|approach|way)"
    r"|the (?:\w+ )?(?:improvement|alternative|change)\b.{0,60}? (?:is|would be) to)\b"
)
_PLACE = re.compile(
    r"(?:\w\.\w{1,6}|`|`[\w-]{1,60}):\d{1,6}\b|\b[Ll]ines? ~?\d|→|->(?=[^`]{0,200}$)"
)
"""A place in code that moves with the next edit, or a chain of steps."""
_PASSING = re.compile(
    r"(?i)\b(?:pre-existing|in_progress|reasonable|residual|nitpick|moot|flagged|heads-up|follow-up"
    r"|uncommitted|untracked|subagents?|something is|still works|feels?|not really"
    r"|not (?:yet|addressed)"
    r"|n't (?:been )?\w{2,20} yet|worth (?:confirming|checking|noting)|(?:may|might) \w+"
    r"|(?:appear|seem|look)(?:s|ed)? (?:to|like|as)|(?:is|was) expected"
    r"|never (?:called|needed|used)"
    r"|(?:is|are) (?:fine|harmless|redundant)|question is whether|same\b.{1,80}\bas the current"
    r"|(?:tests?|suite|build) (?:pass|fail)(?:e?s|ed)?"
    r"|this (?:sandbox|session|checkout|environment)|users? (?:explained|said|asked|confirmed)"
    r"|(?:Read|Edit|Write|Bash|Grep|Glob|Task|Agent|Todo\w*|Web\w*) tool)\b"
    r"|^(?!why )[^:]{3,200}: (?:(?-i:it|they|he|she)|these|those) "
    r"|^(?:down to |all |only |just )?\d+ (?![a-z]+s? (?:must|needs?|requires?)\b)[a-z]"
)
"""How something stood or looked while the work went on, or what somebody thinks of it."""
_STYLE = re.compile(
    r"(?i)`[^`]{0,60}\b(?:bg|text|border|rounded|font|shadow|opacity|flex|grid|gap|[wh]|[pm][xytblr]?)"
    r"-[a-z0-9][^`]{0,60}`|\b\d+px\b"
)
"""How something looks in detail, as classes of a style sheet name it."""
_TICKET = re.compile(
    r"^`?(?:[A-Za-z]{2,12}-)?[a-z0-9]{2,6}\.\d{1,3}`?(?: [–—-]{1,2}|:) "
    r"|^(?i:task|step|phase|issue) ?#?\d|^[A-Z]\d{1,2}: "
    r"|^`?(?!(?:RFC|ADR|CVE|ISO|PEP|UTF|SHA|ES)-)[A-Z]{2,10}-\d{1,6}`?(?: [–—-]{1,2}|:) "
)
"""The title or the state of an issue in a tracker."""
_PROCESS = re.compile(
    r"(?i)^(?:the |an? )(?:\S+ ){0,2}(?:change|refactor(?:ing)?|rename|rewrite|cleanup|commit"
    r"|fix)s? "
    r"(?:is|are|was|were|works?|stays?|remains?)\b"
    r"|^(?:the |an? )(?:(?!\w+(?:s|ed)\b)[^\s,.;:]+ ){0,6}[^\s,.;:]+, (?:which|who|where) "
    r"[^,;:]{3,160}$"
    r"|^(?:two|three|four|five|several|some) \w+ "
    r"|\b(?:option [a-h]|agent \d|test \d|test [a-z]\d)\b"
    r"|, (?:explain|document|describe) \w|\bthen(?:[.!]?$|, )"
)
"""A verdict on the change at hand, a step, or a fragment: it holds for nothing else."""
_QUOTED = re.compile(r"^[\"'“‘«>|+=*#<{\[\\/-]|[{};]$|=>|::=|\$ ")
_UNFINISHED = re.compile(r"(?i)(?:[:,;(\[–—-]|\b(?:and|or|the|a|an|to|of|with|by|for|in))$")
_DEMONSTRATIVE = re.compile(
    rf"(?i)\b(?:this|these) (?!(?:{_NOUNS}|is|was|are|were|has|had|does|did|means|meant|makes"
    r"|made|keeps|kept|will|would|can|requires|happens|happened|breaks|broke|fails|failed|works"
    r"|prevents|avoids|causes|caused|gives|gave|lets)\b)[a-z]+"
)
_NOT_ABLE = re.compile(r"(?i)\bcould(?: not|n't)\b")
_HOSTILE = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override) (?:\w+ ){0,3}(?:previous|prior|above|earlier"
    r"|all|any)?"
    r" ?(?:instructions?|rules|prompts?)\b|\bsystem prompt\b|\byou are (?:now|an?)\b"
    r"|\bas an ai\b|\b(?:curl|wget)\b.{0,200}\|\s{0,3}(?:ba|z)?sh\b|\brm -rf\b"
)
"""Words that speak to an agent instead of about the project."""
_TAG = re.compile(r"(?i)</?[a-z][\w-]{2,40}>")
_TRACE = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-|\b(?:0x[0-9a-f]{4,}|[0-9a-f]{16,})\b|`[0-9a-f]{7,40}`|\bat \S+:\d+:\d+|https?://\S{80,}"
)


def standalone(sentence: Sentence, *, directive: bool = False, task: bool = False) -> str:
    """The sentence in words that need no context, joined with what it refers to; else nothing.

    `directive` says that its author may tell others what to do: the user, or an accepted plan.
    With `task`, what is to be done once counts too.
    """
    text = without_opening(sentence.text)
    if directive and not task and (_is_no_rule(text) or _QUESTION.match(sentence.text)):
        return ""
    label = _NUMBERED_LABEL.sub("", sentence.label)
    if _PROPOSAL.match(text) or _PROPOSAL.match(label) or (not directive and is_report(text)):
        return ""
    if not directive and re.search(r"\b[a-z]+ed$", label):
        return ""
    if label and not sentence.before and not _EMPTY_LABEL.fullmatch(label):
        text = f"{label}: {text}"
    if _WAS.search(text):
        text = _RANKED.sub("", text)
    text = _IS_NOW.sub(r"\1", text)
    resolved = _RESOLVED.match(text)
    if resolved and not _POINTS_BACK.match(resolved["rest"]):
        what = resolved["what"].strip()
        text = f"{resolved['rest'].rstrip('.')}: {what}."
    if _POINTS_BACK.match(text) or _UNNAMED.match(text):
        alone = text if _CAUSE.match(text) else ""
        text = _joined(sentence, text) or alone
    return capitalized(text) if text and is_sound(text, brief=directive) else ""


def _is_no_rule(text: str) -> bool:
    """Does a user want something done once, tell of something, or paste an error?"""
    return bool(_TASK.match(text) or _ERROR.match(text))


def holds(text: str, *, planned: bool = False) -> bool:
    """Does a sentence say what is so, in the plain present, and not what happened or goes on?

    `Tags do not start the workflow` holds tomorrow, too; `the run failed`, `it is using the old
    client` and `the branch is still behind` tell of the work. What should be counts if it is
    `planned`.
    """
    prose = _ASIDE.sub("", _CODE.sub("code", text))
    if _FOUND.search(prose):
        return True
    if _MOMENT.search(prose) or _DEED.match(prose) or _LEANS.search(prose):
        return False
    if _REVIEWED.search(prose) or (_OPINION.search(prose) and not planned):
        return False
    return not _PAST.search(prose) or bool(_WAS.search(prose))


def without_code(text: str) -> str:
    """A sentence without its code spans."""
    return _CODE.sub("", text)


def is_report(text: str) -> bool:
    """Does an agent say what to do or what it did, instead of stating what holds?"""
    text = _CODE_LABEL.sub("", text, count=1)
    return bool(_ORDER.match(text) or _CHANGE.match(text) or _SUBJECTLESS.match(text))


def without_opening(text: str) -> str:
    """A sentence without the words that tie it to the one before."""
    text = _OPENING.sub("", _COUNT.sub("", text), count=1)
    text = _OPENING.sub("", text, count=1)
    text = _OWN_CHOICE.sub("", text)
    shell = _SHELL.match(text)
    return text[shell.end() :] if shell and weight(text[shell.end() :]) >= LEAST_WEIGHT else text


def _joined(sentence: Sentence, text: str) -> str:
    """The sentence after the one that it refers to, if that says what it is about."""
    before = without_opening(sentence.before)
    if (
        not before
        or before.endswith((":", "?"))
        or _RESULT.search(before)
        or is_step(sentence.before)
        or _POINTS_BACK.match(before)
        or _UNNAMED.match(before)
        or weight(before) < LEAST_WEIGHT
    ):
        return ""
    if before[-1] not in ".!":
        before += "."
    return f"{before} {capitalized(text)}"


def is_sound(text: str, *, brief: bool = False) -> bool:
    """Is it a whole statement that says something to somebody who was not there?

    A rule of the user may be `brief`: `never bun link a session version`.
    """
    if not (SHORTEST_RULE if brief else SHORTEST) <= len(text) <= LONGEST:
        return False
    prose = _CODE.sub("code", text)
    words = [word for word in prose.split() if word.strip("`.,:;()").isalpha()]
    return not (
        len(words) < (FEWEST_WORDS - brief)
        or ("`" in text and weight(without_code(text)) < LEAST_PROSE - brief)
        or not stands_alone(text, LEAST_WEIGHT - 2 * brief)
        or text.count("`") % 2
        or text.count("(") != text.count(")")
        or _QUOTED.search(text)
        or _UNFINISHED.search(text.rstrip(".!"))
        or _TRACE.search(text)
        or _HOSTILE.search(text)
        or _TAG.search(prose)
        or _PLACE.search(text)
        or text.startswith("(")
        or ".." in prose
        or ": (" in text
        or _LOCAL.search(prose)
        or (not brief and _OWN_DEED.search(prose))
        or _DEMONSTRATIVE.search(_QUOTATION.sub("", prose))
        or _OPEN_POINT.match(text)
        or _ENDS_BACK.search(text)
        or _PASSING.search(_QUOTATION.sub("", text))
        or _STYLE.search(text)
        or _TICKET.match(text)
        or _UNKNOWN.match(text)
        or _PROCESS.search(prose.rstrip("."))
        or _RANKED.match(text)
        or is_step(text)
        or not is_certain(_NOT_ABLE.sub("cannot", prose))
        or "?" in prose
    )


def capitalized(text: str) -> str:
    """The text with a capital letter at its beginning, unless that is a name or code."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
