"""The base of all tools: a request whose fields are the parameters, and the answer to it."""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr

from kinen.api.verbs import listed
from kinen.memory import Memory
from kinen.memory.memory import ASK
from kinen.model.tuples import NamedTuple


class Answer(NamedTuple):
    """The result of a tool: as a value, and as text for clients that read no values."""

    value: Any
    """A response, or the JSON values of a verb's result."""
    text: str


class Tool(BaseModel):
    """One call of a tool. The docstring of each tool tells agents when to use it."""

    model_config = ConfigDict(str_strip_whitespace=True)
    tool_name: ClassVar[str]
    tool_title: ClassVar[str]
    writes: ClassVar[bool] = False
    lane: ClassVar[str] = ASK
    """Which of the space's memories answers; JOURNAL for what must not wait for a search."""
    idempotent: ClassVar[bool] = True
    unlisted: ClassVar[tuple[str, ...]] = ()
    """Parameters that are accepted, and left out of the definition to keep it short."""
    _client: str = PrivateAttr("")

    @classmethod
    def part(cls, arguments: dict[str, Any]) -> "Part":
        """The tool that answers, and its arguments: of one that joins several, one of these."""
        return cls, arguments

    def parameters(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def answer(self, memory: Memory) -> Answer:
        raise NotImplementedError


Part = tuple[type[Tool], dict[str, Any]]
"""A tool and its arguments."""
Names = Annotated[list[str], BeforeValidator(lambda value: listed(value, ","))]
Texts = Annotated[list[str], BeforeValidator(lambda value: listed(value, ""))]
AsOf = Annotated[str, Field(description="what was known at a time, or in a commit")]
Limit = Annotated[int, Field(ge=1, le=500)]
Offset = Annotated[int, Field(ge=0)]
