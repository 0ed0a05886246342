"""What a tool is: a question whose fields are its parameters, and the answer to it."""

import json
import re
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from kinen import query
from kinen.api.responses import Value
from kinen.memory import Memory
from kinen.memory.pool import ASK
from kinen.model.records import KINDS
from kinen.privacy.entrance import plain_values


class Answer(NamedTuple):
    """What a tool found: as values, and as text for clients that read no values."""

    value: Value
    text: str


class Tool(BaseModel):
    """One call of a tool. The docstring of each tool tells agents when to reach for it."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    called: ClassVar[str]
    titled: ClassVar[str]
    gives: ClassVar[type[Value]]
    writes: ClassVar[bool] = False
    lane: ClassVar[str] = ASK
    """Which of the space's memories answers; JOURNAL for what must not wait for a search."""
    repeats: ClassVar[bool] = True
    """Whether the same call again changes nothing more."""
    _client: str = PrivateAttr("")

    @model_validator(mode="before")
    @classmethod
    def _storable(cls, given: Any) -> Any:
        return plain_values(dict(given)) if isinstance(given, dict) else given

    def answer(self, memory: Memory) -> Answer:
        raise NotImplementedError


def _listed(given: Any, pattern: str) -> Any:
    """Some clients send a list as one text: JSON, or its items."""
    if not isinstance(given, str):
        return given
    if given.lstrip().startswith("["):
        try:
            return json.loads(given)
        except ValueError:
            pass
    return [one.strip() for one in re.split(pattern, given) if one.strip()]


Names = Annotated[list[str], BeforeValidator(lambda given: _listed(given, r"[,\n]"))]
Texts = Annotated[list[str], BeforeValidator(lambda given: _listed(given, r"\n"))]
Limit = Annotated[int, Field(ge=1, le=500, description="at most this many")]
Offset = Annotated[int, Field(ge=0, description="leave out this many first")]
Budget = Annotated[int, Field(ge=0, le=100_000, description="most tokens; 0: as configured")]


def place(memory: Memory, name: str) -> tuple[str, int, int]:
    """A ref or path as memory takes it, with the line and the number of a chunk, -1 for none."""
    name, line, n = query.place(name)
    if n >= 0 or name.partition(":")[0] in KINDS or re.fullmatch(r"[0-9a-fA-F]{4,64}", name):
        return name, line, n
    return memory.git.inside(name), line, n


def page(total: int, offset: int, limit: int) -> dict[str, int]:
    """How many there are, and where the next page begins."""
    end = offset + limit
    return {"total": total, "next_offset": end if end < total else 0}
