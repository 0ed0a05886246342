"""The plans and briefs of a space: files of `.memories/`, of which one is marked as the active."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

from kinen.errors import NotFound, QueryError, Unreadable
from kinen.extract import decode
from kinen.model.journal import Plan
from kinen.storage import inside
from kinen.text import digest, iso
from kinen.text import now as clock
from kinen.worklog import checkpoints as files
from kinen.worklog.files import Folder, tidied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PLANS, BRIEFS = ".memories/plans", ".memories/briefs"
MARKS = {PLANS: ".memories/.active-plan", BRIEFS: ".memories/.active-brief"}
"""Each folder of plans with the file that names the active one."""
LONGEST = 50
"""Characters of an id that is made of a title."""
_NAME = re.compile(r"\w[^/\\:*?\"<>|\x00-\x1f\ud800-\udfff]{0,199}")


class Plans(Folder):
    """What is being worked towards."""

    def plans(self) -> list[Plan]:
        """Plans and briefs, the latest changed first."""
        self.warnings = []
        active, found = self.current(), []
        for path in (one for folder in MARKS for one in self._names(folder, (".md",))):
            with self._warned(path):
                plan = self._plan(path)
                found.append(active if active and active.path == path else plan)
        return sorted(found, key=lambda one: (one.updated, one.path), reverse=True)

    def plan(self, id: str) -> Plan:  # noqa: A002
        """The plan or brief of that id."""
        path = self._found(id)
        if not path:
            plan = next((one for one in self.plans() if one.id == id), None)
            if plan is None:
                raise NotFound(f"no plan {id!r}", "list the plans to see their ids")
            return plan
        try:
            plan, active = self._plan(path), self.current()
        except Unreadable as error:
            raise Unreadable(f"{path}: {error.message}", "mend the file") from None
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}", "check who owns it") from None
        return plan._replace(current=active is not None and active.path == path)

    def current(self) -> Plan | None:
        """The plan that is being worked on: one that is marked so, and still active."""
        for folder, mark in MARKS.items():
            with contextlib.suppress(OSError, Unreadable, QueryError):
                path = self._found(self._marked(mark), first=folder)
                if path and (plan := self._plan(path)).status == "active":
                    return plan._replace(current=True)
        return None

    def _plan(self, path: str) -> Plan:
        return files.read_plan(self._bytes(path), path)

    def _marked(self, mark: str) -> str:
        with contextlib.suppress(OSError, Unreadable):
            return self._bytes(mark).decode("utf-8-sig", "replace").strip()
        return ""

    def _found(self, id_: str, first: str = PLANS) -> str:
        """The file of that name, or nothing; an id that leads elsewhere is refused."""
        if not _NAME.fullmatch(id_):
            raise QueryError(f"no id of a plan: {id_!r}", "list the plans to see their ids")
        for folder in (first, *MARKS):
            path = f"{folder}/{id_}.md"
            linked = os.path.islink(os.path.join(self.root, path))
            if not linked and inside.is_file(self.root, path):
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
        """A new plan; its id is made of the title if not given."""
        self._writable()
        said = _titled({"title": title, "text": text, "tags": files.items(tags, split=True)})
        slug, n = id or slug_of(said["title"]), 1
        while True:
            made = slug if n == 1 else f"{slug[: LONGEST - 1 - len(str(n))].rstrip('-')}-{n}"
            path = f"{PLANS}/{made}.md"
            plan = Plan(made, created=iso(now), updated=iso(now), path=path, **said)
            if not self._found(made) and self._create(path, files.written_plan(plan)):
                return self.activate(made) if activate else plan
            if id:
                raise QueryError(f"there is a plan {id!r} already", "update it, or choose a new id")
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
        """Change what is given of a plan, in the file that it has; all else stays as it is."""
        self._writable()
        if status is not None and status not in files.STATUSES:
            raise QueryError(f"no status {status!r}", "use one of " + ", ".join(files.STATUSES))
        tags = None if tags is None else files.items(tags, split=True)
        given = {"title": title, "text": text, "tags": tags, "status": status}
        said = _titled({key: value for key, value in given.items() if value is not None})
        plan = self.plan(id)
        made = plan._replace(updated=iso(now or clock()), **said)
        self._replace(plan.path, files.written_plan(made, decode(self._bytes(plan.path))))
        if made.status == "active":
            return made
        self._unmark(os.path.basename(plan.path)[:-3])
        return made._replace(current=False)

    def activate(self, id: str) -> Plan:  # noqa: A002
        """Make a plan the one that is being worked on."""
        self._writable()
        plan = self.plan(id)
        if plan.status != "active":
            raise QueryError(f"{id} is {plan.status}", "set its status to active first")
        folder, name = os.path.split(plan.path)
        self._replace(MARKS[folder], name[:-3])
        self._unmark("", but=MARKS[folder])
        return plan._replace(current=True)

    def complete(self, id: str, now: float = 0) -> Plan:  # noqa: A002
        return self.update_plan(id, status="completed", now=now)

    def archive(self, id: str, now: float = 0) -> Plan:  # noqa: A002
        return self.update_plan(id, status="archived", now=now)

    def _unmark(self, name: str, but: str = "") -> None:
        """Take away the marks of a plan, or all but one."""
        for mark in MARKS.values():
            if mark != but and name in ("", self._marked(mark)):
                self._remove(mark)


def _titled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a plan, its title on one line."""
    made = tidied(fields)
    if "title" in made:
        made["title"] = " ".join(made["title"].split())
        if not made["title"]:
            raise QueryError("a plan needs a title", "say in a few words what it is about")
    return made


def slug_of(title: str) -> str:
    """A title as an id."""
    from unicodedata import normalize

    plain = normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST].rstrip("-")
    return slug or f"plan-{digest(title)[:8]}"
