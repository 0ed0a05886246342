"""Flows of the kinds that PocketFlow's users build, with the capsules that they leave."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pocketflow", reason="pip install 'kinen[pocketflow]'")
from pocketflow import (
    AsyncFlow,
    AsyncNode,
    AsyncParallelBatchNode,
    BatchFlow,
    BatchNode,
    Flow,
    Node,
)

from kinen.frameworks.pocketflow import Recall, Remembering, remember

if TYPE_CHECKING:
    from kinen import Memory

NOTES = {
    "deploy": "the shop is deployed by make ship",
    "tests": "the tests of the shop run by make test",
}


def outline(memory: Memory) -> str:
    """Every capsule with its events, parts indented below it."""
    capsules = reversed(memory.journal.entries("capsules")[0])
    return "\n".join(branch(memory, capsule, 0) for capsule in capsules if not capsule.parent)


def branch(memory: Memory, capsule: Any, depth: int) -> str:
    _, observations, summaries = memory.journal.capsule(capsule.ref)
    lines = [f"{capsule.intent} ({capsule.status})"]
    lines += [f"  {event.kind}: {event.content}" for event in observations]
    lines += [branch(memory, part, 1) for part in memory.journal.parts(capsule.ref)]
    lines += [f"  = {summary.content}" for summary in summaries]
    return "\n".join("  " * depth + line for text in lines for line in text.splitlines())


class Decide(Node):
    """Looks up what is missing, then answers."""

    def prep(self, shared: Any) -> Any:
        return shared["question"], shared.get("found", "")

    def exec(self, existing: Any) -> str:
        return "answer" if existing[1] else "search"

    def post(self, shared: Any, _: Any, action: str) -> str:
        return action


class Search(Node):
    def prep(self, shared: Any) -> str:
        return shared["question"]

    def exec(self, question: str) -> str:
        return next(note for word, note in NOTES.items() if word in question)

    def post(self, shared: Any, _: Any, text: str) -> None:
        shared["found"] = text


class Answer(Node):
    def prep(self, shared: Any) -> str:
        return shared["found"]

    def exec(self, text: str) -> str:
        return f"As far as I know, {text}."

    def post(self, shared: Any, _: Any, answer: str) -> str:
        shared["answer"] = answer
        return "done"


def research() -> Flow:
    decide = Decide()
    search = Search()
    decide - "search" >> search
    search >> decide
    decide - "answer" >> Answer()
    return Flow(start=decide)


RESEARCH = """\
  node_start: Decide started
  node_output: search
  node_end: Decide ended with 'search'
  node_start: Search started
  node_output: the shop is deployed by make ship
  node_end: Search ended with None
  node_start: Decide started
  node_output: answer
  node_end: Decide ended with 'answer'
  node_start: Answer started
  node_output: As far as I know, the shop is deployed by make ship.
  node_end: Answer ended with 'done'"""


@pytest.mark.filterwarnings("ignore:Flow ends")
def test_an_agent_that_loops_until_it_can_answer(memory: Memory) -> None:
    shared = {"question": "how do I deploy?"}
    remember(research(), memory).run(shared)
    assert shared["answer"].endswith("make ship.")
    steps = "Flow: Decide → Search → Decide → Answer: ended with 'done'"
    assert outline(memory) == f"Flow (closed)\n{RESEARCH}\n  = {steps}"


def test_an_answer_that_is_checked_and_asked_for_again(memory: Memory) -> None:
    answers = ["no idea", "maybe 4", "4"]

    class Count(Remembering, Node):
        def exec(self, _: Any) -> int:
            return int(answers.pop(0))

        def exec_fallback(self, _: Any, error: Exception) -> int:
            return -1

    node = Count(max_retries=3)
    node.memory = memory
    node.run({})
    assert outline(memory) == (
        "Count (closed)\n"
        "  node_start: Count started\n"
        "  node_error: Count: ValueError: invalid literal for int() with base 10: 'no idea'\n"
        "  node_error: Count: ValueError: invalid literal for int() with base 10: 'maybe 4'\n"
        "  node_output: 4\n"
        "  node_end: Count ended with None\n"
        "  = Count: ended with None"
    )


def test_map_and_reduce_over_a_batch(memory: Memory) -> None:
    class Measure(BatchNode):
        def prep(self, shared: Any) -> list[str]:
            return shared["files"]

        def exec(self, text: str) -> int:
            return len(text.split())

        def post(self, shared: Any, _: Any, sizes: list[int]) -> None:
            shared["sizes"] = sizes

    class Total(Node):
        def prep(self, shared: Any) -> list[int]:
            return shared["sizes"]

        def exec(self, sizes: list[int]) -> int:
            return sum(sizes)

    measure = Measure()
    measure >> Total()
    remember(Flow(start=measure), memory).run({"files": ["one two", "three", "four five six"]})
    assert outline(memory) == (
        "Flow (closed)\n"
        "  node_start: Measure started\n"
        "  node_output: [2, 1, 3]\n"
        "  node_end: Measure ended with None\n"
        "  node_start: Total started\n"
        "  node_output: 6\n"
        "  node_end: Total ended with None\n"
        "  = Flow: Measure → Total: ended with None"
    )


def test_pages_are_fetched_side_by_side(memory: Memory) -> None:
    class Fetch(AsyncParallelBatchNode):
        async def prep_async(self, shared: Any) -> list[str]:
            return shared["pages"]

        async def exec_async(self, page: str) -> str:
            await asyncio.sleep(0)
            if page == "gone":
                raise OSError("404")
            return page.upper()

        async def exec_fallback_async(self, page: str, error: Exception) -> str:
            return f"{page}?"

        async def post_async(self, shared: Any, _: Any, texts: list[str]) -> str:
            shared["texts"] = texts
            return "report"

    class Report(AsyncNode):
        async def exec_async(self, _: Any) -> str:
            return "two pages"

    fetch = Fetch()
    fetch - "report" >> Report()
    shared = {"pages": ["a", "gone"]}
    asyncio.run(remember(AsyncFlow(start=fetch), memory).run_async(shared))
    assert shared["texts"] == ["A", "gone?"]
    assert outline(memory) == (
        "AsyncFlow (closed)\n"
        "  node_start: Fetch started\n"
        "  node_error: Fetch: OSError: 404\n"
        "  node_output: ['A', 'gone?']\n"
        "  node_end: Fetch ended with 'report'\n"
        "  node_start: Report started\n"
        "  node_output: two pages\n"
        "  node_end: Report ended with None\n"
        "  = AsyncFlow: Fetch → Report: ended with None"
    )


@pytest.mark.filterwarnings("ignore:Flow ends")
def test_a_supervisor_runs_flows_inside_a_flow(memory: Memory) -> None:
    class Check(Node):
        def prep(self, shared: Any) -> str:
            return shared["answer"]

        def exec(self, answer: str) -> bool:
            return "make" in answer

        def post(self, shared: Any, _: Any, good: bool) -> str:
            return "good" if good else "again"

    class Supervisor(Flow):
        pass

    worker = research()
    check = Check()
    worker - "done" >> check
    check - "again" >> worker
    shared = {"question": "how do I deploy?"}
    remember(Supervisor(start=worker), memory).run(shared)
    inner = RESEARCH.replace("\n  ", "\n    ")
    assert outline(memory) == (
        "Supervisor (closed)\n"
        "  node_start: Check started\n"
        "  node_output: True\n"
        "  node_end: Check ended with 'good'\n"
        "  Flow (closed)\n"
        f"  {inner}\n"
        "    = Flow: Decide → Search → Decide → Answer: ended with 'done'\n"
        "  = Supervisor: Flow → Check: ended with 'good'"
    )


@pytest.mark.filterwarnings("ignore:Flow ends")
def test_a_batch_of_flows_has_the_parameters_of_each(memory: Memory) -> None:
    class Ask(Node):
        def exec(self, _: Any) -> str:
            return NOTES[self.params["topic"]]

    class Topics(BatchFlow):
        def prep(self, shared: Any) -> list[dict[str, str]]:
            return [{"topic": topic} for topic in NOTES]

    remember(Topics(start=Ask()), memory).run({})
    started = memory.journal.entries("observations", kind="node_start")[0]
    assert [event.provenance["params"] for event in started] == [
        "{'topic': 'tests'}",
        "{'topic': 'deploy'}",
    ]


def test_the_next_flow_recalls_what_an_earlier_flow_did(memory: Memory) -> None:
    remember(research(), memory).run({"question": "how do I deploy?"})

    class Copy(Node):
        def post(self, shared: Any, *_: Any) -> None:
            shared["found"] = shared["memory"]

    recall = Recall(memory, budget=400)
    recall >> Copy()
    shared = {"question": "how is the shop deployed?"}
    remember(Flow(start=recall), memory).run(shared)
    assert "make ship" in shared["found"]


def test_a_node_that_cannot_be_changed_runs_unrecorded(memory: Memory) -> None:
    class Refuses(Node):
        def __setattr__(self, name: str, value: Any) -> None:
            if name in ("memory", "__class__"):
                raise TypeError("sealed")
            super().__setattr__(name, value)

        def exec(self, _: Any) -> str:
            return "ran"

        def post(self, shared: Any, _: Any, text: str) -> None:
            shared["text"] = text

    shared: dict[str, Any] = {}
    remember(Flow(start=Refuses()), memory).run(shared)
    assert shared["text"] == "ran"


def test_an_action_that_cannot_be_shown_does_no_harm(memory: Memory) -> None:
    class Odd(str):
        def __repr__(self) -> str:
            raise RuntimeError("not shown")

    class Strange(Node):
        def post(self, *_: Any) -> str:
            return Odd("next")

    remember(Strange(), memory).run({})
    assert outline(memory).startswith("Strange (closed)")


def test_a_working_folder_that_is_gone_does_no_harm(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Greet(Remembering, Node):
        def exec(self, _: Any) -> str:
            return "hello"

        def post(self, shared: Any, _: Any, text: str) -> None:
            shared["text"] = text

    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    shared: dict[str, Any] = {}
    Greet().run(shared)
    assert shared["text"] == "hello"
