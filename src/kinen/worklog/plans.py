"""The plans and briefs of a space: files of `.memories/`, one of them marked as the active plan."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kinen.errors import (
    Ambiguous,
    NotFound,
    QueryError,
    SpaceError,
    StoreError,
    Unreadable,
    UnsafeFile,
)
from kinen.extract.decode import decode
from kinen.model.journal import Plan
from kinen.model.tuples import NamedTuple
from kinen.paths import user_folder
from kinen.storage import inside
from kinen.text import digest, iso, spelled
from kinen.text import now as clock
from kinen.worklog.checkpoints import STATUSES, format_plan, items, read_plan

PLANS = ".memories/plans"
BRIEFS = ".memories/briefs"
MARKS = {PLANS: ".memories/.active-plan", BRIEFS: ".memories/.active-brief"}
"""Each folder of plans with the file that names the active plan."""
LISTED = "`kinen plan list` shows the ids"
LONGEST = 50
"""Characters of an id that is made from a title."""
_STEP = re.compile(r"^(\s*(?:[-*+]|\d{1,9}[.)])\s+)\[([ xX])\](\s.*|)$")
_ID = re.compile(r"\w[^/\\:*?\"<>|\x00-\x1f\ud800-\udfff]{0,199}")


class Plans:
    """Reads and writes the plans of a space."""

    def __init__(self, root: str) -> None:
        self._files = Folder(root)

    @property
    def root(self) -> str:
        return self._files.root

    @property
    def warnings(self) -> list[str]:
        """What the last listing could not read: `path: reason`."""
        return self._files.warnings

    def plans(self) -> list[Plan]:
        """Plans and briefs, the last updated first."""
        self._files.warnings = []
        active = self.current()
        plans = []
        for path in [path for folder in MARKS for path in self._files.names(folder, (".md",))]:
            with self._files.warn(path):
                plan = self._read(path)
                plans.append(active if active and active.path == path else plan)
        return sorted(plans, key=lambda plan: (plan.updated, plan.path), reverse=True)

    def plan(self, id: str) -> Plan:  # noqa: A002
        """The plan or brief of an id; raises NotFound."""
        path = self._path(id)
        if not path:
            # The plan whose id, inside its file, is or begins with this
            id_ = id
            near = [plan for plan in self.plans() if plan.id.startswith(id_)]
            exact = [plan for plan in near if plan.id == id_]
            if exact or len(near) == 1:
                return (exact or near)[0]
            if near:
                raise Ambiguous(id_, [plan.id for plan in near])
            raise NotFound(f"no plan {id_!r}", LISTED)
        try:
            plan = self._read(path)
        except Unreadable as error:
            raise Unreadable(f"{path}: {error.message}", "fix the file") from None
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}", "check who owns it") from None
        active = self.current()
        return plan._replace(current=active is not None and active.path == path)

    def current(self) -> Plan | None:
        """The active plan: the one that a mark names, unless it is completed or archived."""
        for folder, mark in MARKS.items():
            with contextlib.suppress(OSError, Unreadable, QueryError):
                path = self._path(self._marked_id(mark), first=folder)
                if path and (plan := self._read(path)).status == "active":
                    return plan._replace(current=True)
        return None

    def _read(self, path: str) -> Plan:
        return read_plan(self._files.read(path), path)

    def _marked_id(self, mark: str) -> str:
        with contextlib.suppress(OSError, Unreadable):
            return self._files.read(mark).decode("utf-8-sig", "replace").strip()
        return ""

    def _path(self, id_: str, first: str = PLANS) -> str:
        """The file of a plan, or an empty string; refuses ids that would leave the folder."""
        if not _ID.fullmatch(id_):
            raise QueryError(f"invalid plan id {id_!r}", LISTED)
        for folder in (first, *MARKS):
            path = f"{folder}/{id_}.md"
            is_link = os.path.islink(os.path.join(self.root, path))
            if not is_link and inside.is_file(self.root, path):
                return path
        return ""

    def save_plan(
        self,
        title: str,
        text: str,
        *,
        now: float,
        id: str = "",  # noqa: A002
        tags: Sequence[str] = (),
        activate: bool = False,
    ) -> Plan:
        """Create a plan; without an id, one is made from the title."""
        self._files.check_writable()
        fields = _checked({"title": title, "text": text, "tags": items(tags, split=True)})
        slug = id or slug_of(fields["title"])
        n = 1
        while True:
            name = slug if n == 1 else f"{slug[: LONGEST - 1 - len(str(n))].rstrip('-')}-{n}"
            path = f"{PLANS}/{name}.md"
            plan = Plan(name, created=iso(now), updated=iso(now), path=path, **fields)
            if not self._path(name) and self._files.create(path, format_plan(plan)):
                return self.activate(name) if activate else plan
            if id:
                raise QueryError(f"plan {id!r} already exists", "update it or choose another id")
            n += 1

    def update_plan(
        self,
        id: str,  # noqa: A002
        *,
        title: str | None = None,
        text: str | None = None,
        tags: Sequence[str] | None = None,
        status: str | None = None,
        now: float = 0,
    ) -> Plan:
        """Change some fields of a plan; the rest of its file stays as it is."""
        self._files.check_writable()
        if status is not None and status not in STATUSES:
            raise QueryError(f"unknown status {status!r}", "use one of " + ", ".join(STATUSES))
        tags = None if tags is None else items(tags, split=True)
        values = {"title": title, "text": text, "tags": tags, "status": status}
        fields = _checked({key: value for key, value in values.items() if value is not None})
        plan = self.plan(id)
        updated = plan._replace(updated=iso(now or clock()), **fields)
        before = decode(self._files.read(plan.path))
        self._files.replace(plan.path, format_plan(updated, before))
        if updated.status == "active":
            return updated
        name = os.path.basename(plan.path)[:-3]
        for mark in MARKS.values():
            if self._marked_id(mark) == name:
                self._files.remove(mark)
        return updated._replace(current=False)

    def check(self, id: str, number: int, *, done: bool, now: float = 0) -> Plan:  # noqa: A002
        """Tick off a step of a plan, by its number from 1; with `done` false, the opposite."""
        plan = self.plan(id)
        text = checked(plan.text, number, done=done)
        return self.update_plan(id, text=text, now=now)

    def activate(self, id: str) -> Plan:  # noqa: A002
        """Make a plan the active one."""
        self._files.check_writable()
        plan = self.plan(id)
        if plan.status != "active":
            raise QueryError(f"{id} is {plan.status}", "set its status to active first")
        folder, name = os.path.split(plan.path)
        self._files.replace(MARKS[folder], name[:-3])
        for mark in MARKS.values():
            if mark != MARKS[folder]:
                self._files.remove(mark)
        return plan._replace(current=True)


class PlanStep(NamedTuple):
    """A step of a plan: a list item with a box."""

    number: int
    done: bool
    text: str
    line: int
    """Index of its line in the plan's text."""


def steps(text: str) -> list[PlanStep]:
    """The steps of a plan in order, numbered from 1; those in code blocks are examples."""
    boxes: list[PlanStep] = []
    fenced = False
    for n, line in enumerate(text.split("\n")):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        match = None if fenced else _STEP.match(line)
        if match:
            boxes.append(PlanStep(len(boxes) + 1, match[2] != " ", match[3].strip(), n))
    return boxes


def checked(text: str, number: int, *, done: bool) -> str:
    """The text with the box of a step ticked or cleared; raises QueryError for no such step."""
    boxes = steps(text)
    if not 1 <= number <= len(boxes):
        size = f"the plan has {len(boxes)} steps" if boxes else "the plan has no steps"
        raise QueryError(f"no step {number}: {size}", "steps are lines such as `- [ ] write tests`")
    lines = text.split("\n")
    line = boxes[number - 1].line
    lines[line] = _STEP.sub(rf"\g<1>[{'x' if done else ' '}]\g<3>", lines[line])
    return "\n".join(lines)


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a plan without secrets, the title on one line; raises if that is empty."""
    clean = clean_fields(fields)
    if "title" in clean:
        clean["title"] = " ".join(clean["title"].split())
        if not clean["title"]:
            raise QueryError("a plan needs a title", "describe it in a few words")
    return clean


def slug_of(title: str) -> str:
    """A title as an id: ASCII letters, digits and hyphens."""
    from unicodedata import normalize

    plain = normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST].rstrip("-")
    return slug or f"plan-{digest(title)[:8]}"


LARGEST = 4 << 20
"""Bytes of a file that are read."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BREAKS = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_UNREADABLE = "[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Characters that YAML forbids, or that make a file look binary; compiled when it is used."""


class Folder:
    """Reads and writes files below a root, by their paths relative to it."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.warnings: list[str] = []
        """What the last listing could not read: `path: reason`."""

    def names(self, folder: str, suffixes: tuple[str, ...]) -> list[str]:
        """The paths of the files in a folder that end in one of the suffixes."""
        with self.warn(folder):
            names = inside.files(self.root, folder)
            return [f"{folder}/{name}" for name in names if name.endswith(suffixes)]
        return []

    def folders(self, folder: str) -> list[str]:
        with self.warn(folder):
            return inside.folders(self.root, folder)
        return []

    @contextlib.contextmanager
    def warn(self, path: str) -> Iterator[None]:
        """Turn a failure to read a path into a warning; a missing file is none."""
        try:
            yield
        except FileNotFoundError:
            return
        except UnsafeFile as error:
            self.warnings.append(error.message)
        except Unreadable as error:
            self.warnings.append(f"{spelled(path)}: {error.message}")
        except OSError as error:
            self.warnings.append(f"{spelled(path)}: {error.strerror}")

    def read(self, path: str) -> bytes:
        return inside.read(self.root, path, LARGEST)

    def check_writable(self) -> None:
        """Refuse the home folder and the root of a disk: they are not projects."""
        real = os.path.realpath(self.root)
        if real == os.path.realpath(user_folder(os.environ)) or os.path.dirname(real) == real:
            raise SpaceError(f"kinen writes no files to {real}", "choose the folder of a project")

    def create(self, path: str, text: str) -> bool:
        """Write a new file; False if there already is one of this name, which stays."""
        with _write_errors(path):
            return inside.create(self.root, path, text.encode())

    def replace(self, path: str, text: str) -> None:
        with _write_errors(path):
            inside.replace(self.root, path, text.encode())

    def remove(self, path: str) -> None:
        with _write_errors(path):
            inside.remove(self.root, path)


def clean_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with secrets masked, and without characters that could not be read back."""
    from kinen.privacy.masking import mask_values  # only what writes needs the patterns

    masked: Any = mask_values({key: _readable(value) for key, value in fields.items()})[0]
    clean: dict[str, Any] = {}
    for key, value in masked.items():
        if isinstance(value, list):
            clean[key] = tuple(item.strip() for item in value if item.strip())
        elif isinstance(value, str):
            clean[key] = value.strip()
        else:
            clean[key] = value
    return clean


def _readable(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_readable(item) for item in value]
    if not isinstance(value, str):
        return value
    return re.sub(_UNREADABLE, "", _BREAKS.sub("\n", _COLOURS.sub("", value)))


@contextlib.contextmanager
def _write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "check the disk and the owner of the folder"
        raise StoreError(f"cannot write {path}: {error.strerror}", hint) from None
