"""Endpoints that report as the tools of MCP do: standup, handoff, memories and corrections."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from kinen.api import requests, responses
from kinen.api.corrections import correct
from kinen.http.space import OpenMemory, moment, with_memory
from kinen.memory.report_text import handoff_text, standup_text
from kinen.render.journal import memory_json

router = APIRouter()


@router.get("/standup", response_model=responses.Report)
@with_memory()
def standup(memory: OpenMemory, request: Annotated[requests.Standup, Query()]) -> Any:
    """What was done, decided, comes next and is open since a time, as markdown."""
    report = memory.reports.standup_report(moment(request.since or "1d"))
    return {"space": report.space, "markdown": standup_text(report)}


@router.get("/handoff", response_model=responses.Report)
@with_memory()
def handoff(memory: OpenMemory) -> Any:
    """What the next agent needs: state, plan, sessions and open points, as markdown."""
    report = memory.reports.handoff_report()
    return {"space": report.space, "markdown": handoff_text(report)}


@router.get("/memories", response_model=responses.Memories)
@with_memory()
def memories(memory: OpenMemory, request: Annotated[requests.ListMemories, Query()]) -> Any:
    """Decisions, lessons, patterns and insights drawn from sessions, newest first."""
    learned = memory.consolidation.memories(request.type, session=request.session)
    return {"memories": [_memory(memory, entry) for entry in learned[: request.limit]]}


@router.post("/memories", response_model=responses.Memories)
@with_memory(publish="memory")
def correct_memory(memory: OpenMemory, request: requests.CorrectMemory) -> Any:
    """Edit, merge, supersede, forget or restore a memory, or undo that; the memory that holds."""
    entry = correct(
        memory, request.action, request.id, other=request.other, content=request.content
    )
    return {"memories": [_memory(memory, entry)]}


def _memory(memory: OpenMemory, entry: Any) -> dict[str, Any]:
    return memory_json(entry, memory.consolidation.origin(entry))
