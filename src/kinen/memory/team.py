"""The team of a space: what would leave, sending and receiving it, and leaving the team."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from kinen.errors import ConfigError, KinenError
from kinen.ids import milliseconds
from kinen.ipc import client
from kinen.ipc.extras import require
from kinen.journal import erase
from kinen.journal.memories import drawn_from_any
from kinen.journal.queries import suppressed
from kinen.model.team import Version
from kinen.storage import private
from kinen.storage.database import trial
from kinen.team import login, rows
from kinen.team.replica import Replica, State, read_state
from kinen.team.share import Policy, checkpoint_rows
from kinen.team.sync import Report, meet, receive, synchronize
from kinen.text import iso

if TYPE_CHECKING:
    from kinen.memory.core import Core
    from kinen.memory.journal import Journal
    from kinen.memory.worklog import Worklog
    from kinen.ports import Team as Port
    from kinen.team.client import Server
    from kinen.team.machines import FolderTeam, SshTeam

TOKEN = "team-{}.token"  # noqa: S105
"""The file of a token in kinen's home, one for each server."""
LAST = "team.json"
"""What became of the last runs, in the folder of a space's journal."""
NO_TEAM = "no team: team.url is not set"
SETUP = "run `kinen team join URL`, then `kinen sync`"
PREVIEW = 1_000_000
"""Versions that a preview shows at most."""


class Team:
    """What this machine shares with its team."""

    def __init__(self, core: Core, journal: Journal, worklog: Worklog) -> None:
        self._core = core
        self._journal = journal
        self._worklog = worklog

    @property
    def url(self) -> str:
        """The address of the team; empty without one."""
        return self._core.config.team.url

    @property
    def name(self) -> str:
        """The name of this person in the team; a server's token decides it at the first sync."""
        known = self.state().author if self.url.startswith("http") else ""
        return known or self._own_name

    @property
    def _own_name(self) -> str:
        """The name that a person has chosen, or that of the account."""
        return self._core.config.team.name or _login()

    @property
    def space(self) -> str:
        """The name of the space in the team, the same for every clone: `github.com/acme/shop`."""
        space = self._core.space
        remote = space.key if space.identity == "origin" else space.origin
        _, scheme, address = remote.partition("https://")
        return self._core.config.team.space or (address if scheme else space.name)

    @property
    def peer(self) -> str:
        """What the state of synchronising belongs to; no password is in it."""
        return f"{hashlib.sha256(self.url.encode()).hexdigest()[:16]} {self.space}"

    def require(self) -> None:
        """Raise ConfigError without a team."""
        if not self.url:
            raise ConfigError(NO_TEAM, SETUP)

    def state(self) -> State:
        """How far this machine is."""
        return read_state(self._core.store.db)

    def waiting(self) -> int:
        """How many versions the next run would send."""
        with self._scanned() as replica:
            return replica.waiting()

    def preview(self) -> list[Version]:
        """Everything that the next run would send, as it would be sent; nothing is changed."""
        with self._scanned() as replica:
            return [*replica.pending(PREVIEW, erased=True), *replica.pending(PREVIEW, erased=False)]

    @contextmanager
    def _scanned(self) -> Iterator[Replica]:
        """The replica as the next run begins with it; undone at the end."""
        replica = self._replica(self.name)
        with trial(self._core.store.db):
            replica.begin(self.peer)
            replica.scan()
            yield replica

    def sync(self, progress: Callable[[Report], None] = lambda _: None) -> Report:
        """Send what is new here and take over what is new elsewhere.

        Raises Busy where the team cannot be reached: everything stays here, and the next run
        continues.
        """
        if self.state().left:
            raise ConfigError(
                "this space has left the team", "run `kinen team join` to share again"
            )
        self._core.register()
        try:
            with self._connected() as port:
                replica = self._replica(port.person)
                report = synchronize(replica, port, self.peer, progress=progress)
                if self._follow_erasures(replica.erased):
                    more = synchronize(replica, port, self.peer, progress=progress)
                    report.pushed += more.pushed
                    report.kept += more.kept
                    report.unsent |= more.unsent
        except KinenError as error:
            self._note(error=error.line(), failed_at=milliseconds())
            raise
        self._note(succeeded_at=milliseconds())
        return report

    @property
    def server(self) -> tuple[str, str, str] | None:
        """What one request for the news of several spaces is sent with; None for a database."""
        settings = self._core.config.team
        if not settings.url.startswith(("https://", "http://")):
            return None
        return settings.url, settings.certificate, settings.token_env

    def news(self, seen: Mapping[str, str], seconds: float) -> tuple[dict[str, str], list[str]]:
        """The states of spaces of the server that differ from what was seen, and those refused.

        It waits for one some seconds.
        """
        from kinen.team.client import HttpTeam

        with self._connected() as port:
            assert isinstance(port, HttpTeam)
            return port.news(seen, seconds)

    def rest(self) -> bool:
        """Whether nothing waits to be sent; for who knows that the team has nothing new either.

        That counts as a success, as a run without entries does.
        """
        if self.waiting():
            return False
        self._note(succeeded_at=milliseconds())
        return True

    def share(self) -> None:
        """For what happens in the background: sync, and start the daemon, which goes on with it.

        Does nothing without a team. `status` says what went wrong.
        """
        if not self.url or self.state().left:
            return
        if self._core.config.daemon.auto_start:
            client.start(self._core.space.home)
        with suppress(KinenError):
            self.sync()

    def sync_folder(self, folder: str) -> Report:
        """Bring this machine and a folder, which a program syncs with others, to the same state."""
        from kinen.team.machines import FolderTeam

        path = os.path.realpath(folder)
        name = self._core.config.team.name
        return self._meet(FolderTeam(path, self.space, name, self.state_kept().machine), path)

    def sync_ssh(self, host: str) -> Report:
        """Bring this machine and another one of the same person to the same state."""
        from kinen.team.machines import SshTeam

        self._require_alone()
        return self._meet(SshTeam(host, self.space, self._own_name), f"ssh {host}")

    def _require_alone(self) -> None:
        if self.url:
            raise ConfigError("this space has a team", "`kinen sync` brings it to your machines")

    def state_kept(self) -> State:
        """How far this machine is, with a name that it keeps."""
        self._require_alone()
        self._core.register()
        return self._replica(self._own_name, "all").begin(self.state().peer)

    def _meet(self, port: FolderTeam | SshTeam, peer: str) -> Report:
        self._core.register()
        try:
            replica = self._replica(port.person or self._own_name, "all")
            report = meet(replica, port, peer)
            if self._follow_erasures(replica.erased):
                report.pushed += meet(replica, port, peer).pushed
        finally:
            port.close()
        report.unread.update(port.unread)
        return report

    def answer(self, person: str, requests: IO[bytes], answers: IO[bytes]) -> None:
        """Be the other machine of `sync_ssh`."""
        from kinen.team.machines import answer

        self._require_alone()
        self._core.register()
        name = self._core.config.team.name or person or self._own_name
        replica = self._replica(name, "all")
        replica.begin(self.state().peer or "ssh")
        replica.scan()
        answers.write(json.dumps({"person": name}).encode() + b"\n")
        answers.flush()
        try:
            answer(replica, requests, answers)
        finally:
            self._follow_erasures(replica.erased)

    def last(self) -> dict[str, Any]:
        """When a run last succeeded (`succeeded_at`) and failed (`failed_at`, `error`)."""
        try:
            found = json.loads(private.read(self._last_file))
        except (OSError, ValueError):
            return {}
        return found if type(found) is dict else {}

    def health(self) -> dict[str, Any]:
        """The times of the last success and, if it came later, of the last error; None without."""
        last = self.last()
        succeeded = last.get("succeeded_at", 0)
        failed = last.get("failed_at", 0)
        return {
            "last_success": iso(succeeded / 1000) if succeeded else None,
            "last_error": last.get("error") if failed > succeeded else None,
            "failed_at": iso(failed / 1000) if failed > succeeded else None,
        }

    @property
    def _last_file(self) -> str:
        return os.path.join(self._core.space.data, LAST)

    def _note(self, **facts: Any) -> None:
        """Keep what became of a run; beside the journal, which an empty run does not write to."""
        with suppress(OSError):
            private.write(self._last_file, json.dumps({**self.last(), **facts}))

    def follow(self, port: Port) -> Report:
        """Take over what is new in a team, and send nothing: for a copy that is only read."""
        self._core.register()
        replica = self._replica(port.person)
        report = receive(replica, port, self.peer)
        self._follow_erasures(replica.erased)
        return report

    def _follow_erasures(self, refs: list[str]) -> bool:
        """Erase here what was made of entries that others erased; whether there was anything."""
        if not refs:
            return False
        store = self._core.store
        drawn = drawn_from_any(store.db, refs)
        for ref in drawn:
            erase.erase(store, ref, forget=True, now=milliseconds())
        self._journal.clean([*refs, *drawn])
        return bool(drawn)

    def leave(self, *, withdraw: bool) -> int:
        """Stop sharing; with `withdraw`, take back everything this person wrote from everybody.

        Returns how many entries were taken back. Nothing is removed from this machine.
        """
        self.require()
        count = 0
        replica = self._replica(self.name)
        if withdraw:
            with self._connected() as port:
                count = port.withdraw(replica.state.machine)
        replica.leave()
        return count

    def join(self) -> None:
        """Share again after leaving: everything is looked at anew."""
        self.require()
        self._replica(self.name).rejoin()

    def keep_token(self, token: str) -> str:
        """Keep the token for the team's server in a private file; returns its path."""
        text = token.strip()
        if not text.startswith("kinen_") or not text.isascii() or not text.isprintable():
            raise ConfigError(
                "not a token of a team", "paste what `kinen team token create` printed"
            )
        path = self._token_file()
        login.forget(path)
        private.write(path, text + "\n")
        return path

    def provider(self) -> str:
        """Where people sign in to the team's server; empty if it takes tokens only."""
        server = self._server()
        try:
            return login.provider(server)
        finally:
            server.close()

    def sign_in(self, show: Callable[[str, str], None]) -> tuple[str, str]:
        """Show an address and a code, wait, and keep the token; its file and the person's name."""
        path = self._token_file()
        server = self._server()
        try:
            return path, login.sign_in(server, path, show, time.sleep)
        finally:
            server.close()

    def sign_out(self) -> bool:
        """Remove the token here; whether the server has ended it, too."""
        return login.sign_out(self._token_file(), self._server)

    def _server(self) -> Server:
        """The team's server, without a token."""
        from kinen.team.client import Server

        self.require()
        return Server(self.url, {}, certificate=self._core.config.team.certificate)

    def _token_file(self) -> str:
        self.require()
        digest = hashlib.sha256(self.url.encode()).hexdigest()[:8]
        return os.path.join(self._core.space.home, TOKEN.format(digest))

    def _token(self) -> str:
        token = os.environ.get(self._core.config.team.token_env, "")
        if token:
            return token
        login.renewed(self._token_file(), self._server)
        try:
            return private.read(self._token_file()).decode("ascii").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    @contextmanager
    def _connected(self) -> Iterator[Port]:
        """The team, whichever way it is reached."""
        url = self.url
        port: Port
        self.require()
        if url.startswith(("postgresql://", "postgres://")):
            require("kinen sync with a PostgreSQL address", "postgres")
            from kinen.team.postgres import connect

            port = connect(url, self.space, self._own_name)
        elif url.startswith(("https://", "http://")):
            from kinen.team.client import HttpTeam

            certificate = self._core.config.team.certificate
            port = HttpTeam(url, self.space, self._token(), certificate=certificate)
        else:
            raise ConfigError(
                "invalid team.url", "use https://… of a server, or postgresql://… of a database"
            )
        try:
            yield port
        finally:
            port.close()

    def _replica(self, person: str, level: str = "") -> Replica:
        """The journal as a replica that shares up to a level, else what the settings say."""
        config = self._core.config
        db = self._core.store.db
        share = level or config.team.share
        policy = Policy(share, config.privacy.exclude)
        checkpoints = [*self._worklog.folder.checkpoints()] if share != "none" else []
        files = {checkpoint.id: checkpoint.ref for checkpoint in checkpoints}

        def hide(id_: str) -> None:
            rows.hide(db, files[id_], milliseconds())

        return Replica(
            db,
            person,
            policy,
            now=milliseconds,
            checkpoints=checkpoint_rows(checkpoints, suppressed(db)),
            on_file_erased=hide,
        )


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "somebody"


def shown_url(url: str) -> str:
    """An address without the password that may be in it."""
    parts = urlsplit(url)
    if not parts.password:
        return url
    return urlunsplit(parts._replace(netloc=f"{parts.username}@{parts.netloc.rpartition('@')[2]}"))
