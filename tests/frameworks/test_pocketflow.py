"""Flows as people write them for PocketFlow, recorded in a real journal."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pocketflow", reason="pip install 'kinen[pocketflow]'")
from pocketflow import (
    AsyncFlow,
    AsyncNode,
    AsyncParallelBatchFlow,
    AsyncParallelBatchNode,
    BatchFlow,
    BatchNode,
    Flow,
    Node,
)

from frameworks_memory import SECRET, on_disk
from kinen.frameworks.pocketflow import Recall, Remembering, remember
from kinen.memory.workflow import LONGEST

if TYPE_CHECKING:
    from pathlib import Path

    from kinen import Memory


def tree(memory: Memory) -> list[Any]:
    """The capsules without a parent, each as its intent, events and parts."""
    capsules = memory.journal.entries("capsules")[0]
    return [branch(memory, capsule) for capsule in reversed(capsules) if not capsule.parent]


def branch(memory: Memory, capsule: Any) -> Any:
    _, observations, _ = memory.journal.capsule(capsule.ref)
    events = [f"{event.kind} {event.provenance['node']}" for event in observations]
    return (
        capsule.intent,
        events,
        [branch(memory, part) for part in memory.journal.parts(capsule.ref)],
    )


def summaries(memory: Memory) -> list[str]:
    return [summary.content for summary in memory.journal.entries("summaries")[0][::-1]]


class Outline(Node):
    def prep(self, shared: Any) -> str:
        return shared["topic"]

    def exec(self, topic: str) -> list[str]:
        return [f"{topic} {number}" for number in range(2)]

    def post(self, shared: Any, topic: str, parts: list[str]) -> str:
        shared["parts"] = parts
        return "write"


class Write(BatchNode):
    def prep(self, shared: Any) -> list[str]:
        return shared["parts"]

    def exec(self, part: str) -> str:
        return part.upper()

    def post(self, shared: Any, parts: list[str], texts: list[str]) -> None:
        shared["text"] = " ".join(texts)


def article() -> Flow:
    outline = Outline()
    outline - "write" >> Write()
    return Flow(start=outline)


def test_a_flow_one_does_not_own_is_recorded_as_a_capsule(memory: Memory) -> None:
    shared = {"topic": "tea"}
    remember(article(), memory).run(shared)
    assert shared["text"] == "TEA 0 TEA 1"
    events = [f"node_{step} {node}" for node in ("Outline", "Write") for step in STEPS]
    assert tree(memory) == [("Flow", events, [])]
    assert summaries(memory) == ["Flow: Outline → Write: ended with None"]


STEPS = ("start", "output", "end")


def test_a_class_of_ones_own_is_recorded_by_the_mixin(memory: Memory) -> None:
    class Greet(Remembering, Node):
        def exec(self, prepared: Any) -> str:
            return "hello"

    class Welcome(Remembering, Flow):
        pass

    Welcome.memory = memory
    Welcome(start=Greet()).run({})
    assert tree(memory) == [("Welcome", [f"node_{step} Greet" for step in STEPS], [])]


def test_a_node_alone_has_a_capsule(memory: Memory) -> None:
    node = remember(Outline(), memory)
    node.run({"topic": "tea"})
    assert tree(memory) == [("Outline", [f"node_{step} Outline" for step in STEPS], [])]


def test_a_flow_inside_a_flow_is_a_part(memory: Memory) -> None:
    class Done(Node):
        pass

    inner = article()
    inner >> Done()
    remember(Flow(start=inner), memory).run({"topic": "tea"})
    ((intent, events, parts),) = tree(memory)
    assert intent == "Flow"
    assert events == ["node_start Done", "node_end Done"]
    assert [(part[0], len(part[1]), part[2]) for part in parts] == [("Flow", 6, [])]
    assert all(capsule.status == "closed" for capsule in memory.journal.entries("capsules")[0])


def test_retries_errors_and_fallbacks_are_observations(memory: Memory) -> None:
    class Flaky(Node):
        calls = 0

        def prep(self, shared: Any) -> str:
            return "input"

        def exec(self, item: str) -> str:
            Flaky.calls += 1
            if Flaky.calls < 3:
                raise ValueError(f"call {Flaky.calls}")
            return "fine"

    class Hopeless(Node):
        def exec(self, item: Any) -> str:
            raise OSError("no network")

        def exec_fallback(self, item: Any, error: Exception) -> str:
            return "cached"

    flaky = Flaky(max_retries=3)
    flaky >> Hopeless()
    remember(Flow(start=flaky), memory).run({})
    errors = [
        (event.content, event.provenance["attempt"])
        for event in memory.journal.entries("observations", kind="node_error")[0][::-1]
    ]
    assert errors == [
        ("Flaky: ValueError: call 1", 1),
        ("Flaky: ValueError: call 2", 2),
        ("Hopeless: OSError: no network", 1),
    ]
    outputs = memory.journal.entries("observations", kind="node_output")[0]
    assert [event.content for event in outputs[::-1]] == ["fine", "cached"]


@pytest.mark.parametrize("phase", ["prep", "exec", "post"])
def test_an_error_is_recorded_once_and_closes_the_capsule(memory: Memory, phase: str) -> None:
    def fail(*_: Any) -> None:
        raise KeyError(phase)

    broken = type("Broken", (Node,), {phase: fail})
    with pytest.raises(KeyError):
        remember(Flow(start=broken()), memory).run({})
    errors = memory.journal.entries("observations", kind="node_error")[0]
    assert [event.content for event in errors] == [f"Broken: KeyError: '{phase}'"]
    assert summaries(memory) == [f"Flow: Broken: failed: KeyError: '{phase}'"]
    assert [capsule.status for capsule in memory.journal.entries("capsules")[0]] == ["closed"]


def test_async_and_parallel_flows_keep_their_events_apart(memory: Memory) -> None:
    class Fetch(AsyncNode):
        async def prep_async(self, shared: Any) -> str:
            return self.params["page"]

        async def exec_async(self, page: str) -> str:
            for _ in range(3):
                await asyncio.sleep(0)
            return f"text of {page}"

    class Count(AsyncParallelBatchNode):
        async def prep_async(self, shared: Any) -> list[int]:
            return [1, 2, 3]

        async def exec_async(self, number: int) -> int:
            await asyncio.sleep(0)
            return number * 2

    class Pages(AsyncParallelBatchFlow):
        async def prep_async(self, shared: Any) -> list[dict[str, str]]:
            return [{"page": "a"}, {"page": "b"}]

    pages = Pages(start=Fetch())
    pages >> Count()
    asyncio.run(remember(AsyncFlow(start=pages), memory).run_async({}))
    ((_, events, parts),) = tree(memory)
    assert events == [f"node_{step} Count" for step in STEPS]
    ((intent, fetched, _),) = parts
    assert intent == "Pages"
    assert sorted(fetched) == sorted(2 * [f"node_{step} Fetch" for step in STEPS])
    outputs = memory.journal.entries("observations", kind="node_output")[0]
    texts = {event.content for event in outputs}
    assert texts == {"text of a", "text of b", "[2, 4, 6]"}
    starts = memory.journal.entries("observations", kind="node_start")[0]
    params = {event.provenance["params"] for event in starts}
    assert {"{'page': 'a'}", "{'page': 'b'}"} <= params


def test_a_batch_flow_runs_its_nodes_once_for_each_item(memory: Memory) -> None:
    class Topics(BatchFlow):
        def prep(self, shared: Any) -> list[dict[str, str]]:
            return [{"topic": "tea"}, {"topic": "rice"}]

    class Topic(Node):
        def exec(self, prepared: Any) -> str:
            return self.params["topic"]

    remember(Topics(start=Topic()), memory).run({})
    assert tree(memory) == [("Topics", 2 * [f"node_{step} Topic" for step in STEPS], [])]


def test_secrets_are_masked_and_outputs_cut(memory: Memory, tmp_path: Path) -> None:
    class Leaky(Node):
        def exec(self, prepared: Any) -> Any:
            return {"token": SECRET, "long": "x" * 10_000, "deep": [[[[[[[1]]]]]]]}

    node = remember(Leaky(), memory)
    node.set_params({"password": SECRET})
    node.run({})
    (output,) = memory.journal.entries("observations", kind="node_output")[0]
    assert len(output.content) <= LONGEST
    assert not on_disk(tmp_path / "home", SECRET)


def test_a_memory_that_fails_does_not_fail_the_flow(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    shared = {"topic": "tea"}
    flow = remember(article(), memory)
    monkeypatch.setattr(type(memory.journal), "observe", full)
    monkeypatch.setattr(type(memory.journal), "open_capsule", full)
    flow.run(shared)
    assert shared["text"] == "TEA 0 TEA 1"
    assert "disk full" in caplog.text


class Opaque:
    def __repr__(self) -> str:
        raise RuntimeError("not shown")


def test_a_value_that_cannot_be_shown_is_named(memory: Memory) -> None:
    class Odd(Node):
        def exec(self, prepared: Any) -> Any:
            return Opaque()

    remember(Odd(), memory).run({})
    (output,) = memory.journal.entries("observations", kind="node_output")[0]
    assert "Opaque" in output.content


def test_recall_is_a_node(memory: Memory) -> None:
    memory.observe("the labels service is deployed by make ship", scope={"session": "s1"})

    class Answer(Node):
        def prep(self, shared: Any) -> str:
            return shared["memory"]

        def post(self, shared: Any, text: str, _: Any) -> None:
            shared["answer"] = text

    recall = Recall(memory, budget=300)
    recall >> Answer()
    shared = {"question": "how is the labels service deployed"}
    remember(Flow(start=recall), memory).run(shared)
    assert "make ship" in shared["answer"]
    assert json.dumps(shared)


def test_any_workflow_records_its_steps_by_hand(memory: Memory) -> None:
    flow = memory.workflow.start("Research", flow=True)
    search = memory.workflow.start("Search", within=flow, params={"query": "lions"})
    memory.workflow.error(search, TimeoutError("no answer"), attempt=1)
    memory.workflow.output(search, ["lions sleep"])
    memory.workflow.end(search, "answer")
    answer = memory.workflow.start("Answer", within=flow, capsule=True)
    memory.workflow.end(answer, error="no words left")
    memory.workflow.end(flow, "done")
    whole, events, (summary,) = memory.journal.capsule(flow.capsule)
    assert (whole.status, summary.content) == (
        "closed",
        "Research: Search → Answer: ended with 'done'",
    )
    kinds = [event.kind for event in events]
    assert kinds == ["node_start", "node_error", "node_output", "node_end"]
    assert events[1].content == "Search: TimeoutError: no answer"
    assert events[1].provenance["attempt"] == 1
    part, own, _ = memory.journal.capsule(answer.capsule)
    assert part.parent == whole.id
    assert [event.kind for event in own] == ["node_start", "node_end"]


def test_each_node_has_a_capsule_where_that_is_asked_for(memory: Memory) -> None:
    class Plan(Node):
        def exec(self, _: Any) -> str:
            return "a plan"

    remember(Flow(start=Plan()), memory, capsules=True).run({})
    capsules = memory.journal.entries("capsules")[0]
    assert sorted(capsule.intent for capsule in capsules) == ["Flow", "Plan"]
    (node,) = (capsule for capsule in capsules if capsule.intent == "Plan")
    assert node.parent
