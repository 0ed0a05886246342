"""`kinen sync` and `kinen team`: one memory for several people and machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from kinen.characters import visible_line
from kinen.cli.answer import emit, opened
from kinen.cli.command import (
    group,
    json_command,
    json_option,
    memory_command,
    options,
    space_option,
)
from kinen.cli.output import note
from kinen.errors import KinenError, QueryError, SpaceError
from kinen.ipc.extras import require
from kinen.memory import Memory
from kinen.paths import default_home
from kinen.render.text import counted
from kinen.space.registry import registered
from kinen.team.merge import to_json
from kinen.verbs.params import option, param
from kinen.verbs.verb import Output, listing

if TYPE_CHECKING:
    from kinen.model.team import Version
    from kinen.postgres.connection import Database
    from kinen.team.sync import Report

WIDTH = 90
"""Characters of an entry that a preview shows."""
LONGEST_HELLO = 10_000
"""Bytes of the first request of another machine."""
AGAIN = "sharing again: `kinen sync --preview` shows what would leave"
NOTED_REFS = 5
"""Entries that a note names."""
database_option = click.option(
    "--database",
    metavar="URL",
    required=True,
    envvar="DATABASE_URL",
    help="PostgreSQL of the team: postgresql://user@host/database (or DATABASE_URL)",
)


@click.command()
@click.argument("where", nargs=-1, metavar="[FOLDER | ssh HOST]")
@click.option("--preview", is_flag=True, help="show what would leave this machine, send nothing")
@space_option
@json_option
def sync(where: tuple[str, ...], preview: bool, space: str | None, as_json: bool) -> int:
    """Send what is new here to the team, and take over what is new there.

    What is shared is decided by team.share: none (the default), checkpoints, summaries or all.
    Redactions and forgotten entries always travel, and first. The daemon does the same in the
    background.

    With FOLDER or ssh HOST the space is synced with your own machines and without a server: through
    a folder that a program such as Syncthing syncs, or with the kinen of another machine. All of
    the journal travels, except for paths in privacy.exclude.

    \b
    Examples:
      kinen sync --preview
      kinen sync ~/Sync
      kinen sync ssh desk
    """
    if where == ("-",):  # the other side of `sync ssh`
        return _answer()
    if len(where) > 2 or (len(where) == 2 and where[0] != "ssh") or where == ("ssh",):
        raise QueryError(f"cannot sync with {' '.join(where)}", "give FOLDER, or ssh HOST")
    if where and preview:
        raise QueryError("a preview is for a team", "run it without --preview")
    with opened(space) as memory:
        team = memory.team
        if where:
            report = team.sync_ssh(where[1]) if len(where) == 2 else team.sync_folder(where[0])
            output = _synced(memory, report, own=True)
        elif preview:
            versions = team.preview()
            level = memory.config.team.share
            lines = [_line(version) for version in versions]
            lines.append(f"{counted(len(versions), 'entries')} would leave, team.share is {level}")
            data = {"share": level, "entries": [to_json(version) for version in versions]}
            output = Output(data, "\n".join(lines))
        else:
            output = _synced(memory, team.sync())
    return emit(output, as_json)


def _answer() -> int:
    """Find the space that the other machine names, and answer its requests."""
    requests = sys.stdin.buffer
    answers = sys.stdout.buffer
    try:
        hello = json.loads(requests.readline(LONGEST_HELLO))
        name = str(hello["space"])
        person = str(hello["person"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise QueryError("not a request of kinen", "run `kinen sync ssh HOST`") from None
    try:
        for space in registered(default_home()):
            if not space.missing:
                with Memory.open(space=space.id) as memory:
                    if memory.team.space == name:
                        memory.team.answer(person, requests, answers)
                        return 0
        raise SpaceError(f"no space {name}", "clone it there and run `kinen init` in it")
    except KinenError as error:
        answers.write(json.dumps({"error": error.fact(), "hint": error.hint}).encode() + b"\n")
        return 1


def _synced(memory: Memory, report: Report, *, own: bool = False) -> Output:
    notes = []
    if report.unread:
        notes.append(_note_on("of others could not be read", report.unread))
    if report.unsent:
        notes.append(_note_on("not taken by the team", report.unsent))
    if report.replaced:
        notes.append(
            _note_on(
                "written on this machine, different in the team, kept here as written",
                report.replaced,
            )
        )
    if report.kept:
        notes.append(
            f"{counted(report.kept, 'entries')} of colleagues forgotten on this machine only:"
            " for everybody, their author or somebody with the right admin forgets them"
        )
    if report.compared:
        notes.append(
            "the team's database has another history (a restore or failover): everything was"
            f" compared, {counted(report.repaired, 'entries')} sent again"
        )
    if report.lost and not own:
        notes.append(
            f"{counted(report.lost, 'entries')} of colleagues are missing in the team:"
            " their machines send them again at their next sync"
        )
    if memory.config.team.share == "none" and not own:
        notes.append("nothing is sent: team.share is none")
    text = f"sent {report.pushed:,}, received {report.pulled:,}"
    data = {
        "sent": report.pushed,
        "received": report.pulled,
        "kept": report.kept,
        "unread": report.unread,
        "unsent": report.unsent,
        "replaced": report.replaced,
        "compared": report.compared,
        "repaired": report.repaired,
        "lost": report.lost,
    }
    return Output(data, text, notes=notes)


def _note_on(what: str, refs: Collection[str]) -> str:
    """A note on some entries, with their refs and why."""
    reasons = refs if isinstance(refs, Mapping) else {}
    names = [f"{ref} ({reasons[ref]})" if ref in reasons else ref for ref in [*refs][:NOTED_REFS]]
    rest = f" and {len(refs) - NOTED_REFS:,} more" if len(refs) > NOTED_REFS else ""
    return f"{counted(len(refs), 'entries')} {what}: {visible_line(', '.join(names))}{rest}"


def _line(version: Version) -> str:
    """What a preview shows of an entry: its ref and the beginning of every text in it."""
    ref = f"{version.noun}:{version.id}"
    if version.forgotten:
        return f"{ref}  forgotten"
    fields = version.fields
    names = ("content", "intent", "reason", "ref", "path")
    text = next((str(fields[name]) for name in names if fields.get(name)), "")
    return visible_line(f"{ref}  {text}"[: len(ref) + WIDTH])


@group()
def team() -> None:
    """Share a memory with colleagues: see docs/guides/team.md for the set-up."""


@team.command()
@memory_command
def status(memory: Memory) -> Output:
    """Show the team of this space, what is shared and what waits. Exit 1 without a team."""
    part = memory.team
    from kinen.memory.team import NO_TEAM, SETUP, shown_url

    if not part.url:
        return Output({"team": None}, "", found=False, notes=[f"{NO_TEAM}: {SETUP}"])
    state = part.state()

    data = {
        "url": shown_url(part.url),
        "space": part.space,
        "name": part.name,
        "share": memory.config.team.share,
        "waiting": part.waiting(),
        "left": state.left,
        "machine": state.machine,
        "unread": state.unread,
        **part.health(),
    }
    shown: dict[str, Any] = {
        **data,
        "left": "yes: `kinen team join` shares again" if state.left else "no",
        "unread": f"{len(state.unread):,}: they wait for a newer kinen" if state.unread else "",
        "last_success": data["last_success"] or "never",
    }
    text = "\n".join(
        f"{key.replace('_', ' '):<12} {visible_line(str(value))}"
        for key, value in shown.items()
        if value not in ("", None)
    )
    return Output(data, text)


@team.command()
@memory_command
def login(memory: Memory) -> Output:
    """Sign in to the team's server, or keep a token for it.

    A token is read from standard input. Without one, and where the server knows a provider, an
    address and a code are shown: open it on any device. The token that comes of it is renewed by
    kinen until you sign out or lose your groups.

    \b
    Examples:
      kinen team login
      kinen team login < token.txt
    """
    return _login(memory)


def _login(memory: Memory) -> Output:
    part = memory.team
    token = "" if sys.stdin.isatty() else sys.stdin.readline(400)
    if token.strip() or not part.provider():
        token = token or click.prompt("token", hide_input=True, err=True)
        path = part.keep_token(token)
        return Output({"path": path}, f"wrote {path}")

    def show(address: str, code: str) -> None:
        note(f"open {visible_line(address)} and enter {visible_line(code)}")

    path, person = part.sign_in(show)
    return Output({"path": path, "person": person}, f"signed in as {visible_line(person)}")


@team.command()
@memory_command
def logout(memory: Memory) -> Output:
    """Remove the token for the team's server, and end it there if it comes from signing in."""
    ended = memory.team.sign_out()
    return Output({"ended": ended}, "signed out" if ended else "the token was removed here")


@team.command()
@click.option("--erase", is_flag=True, help="take your entries back from everybody")
@memory_command
def leave(memory: Memory, erase: bool) -> Output:
    """Stop sharing this space. Nothing is removed from this machine.

    With --erase, the team and every colleague lose what you wrote at their next sync.
    """
    count = memory.team.leave(withdraw=erase)
    text = f"left the team, {counted(count, 'entries')} taken back" if erase else "left the team"
    return Output({"left": True, "erased": count}, text)


@team.command()
@click.argument("url", default="")
@space_option
@json_option
def join(url: str, space: str | None, as_json: bool) -> int:
    """Join the team of a server, or share this space again after leaving.

    With URL, team.url is set in your own settings, and you sign in: see `kinen team login`.

    \b
    Examples:
      kinen team join https://team.example
    """
    if url:
        from kinen import config, paths
        from kinen.team.client import Server

        if not url.startswith(("https://", "http://")):
            raise QueryError(f"not the address of a server: {visible_line(url)}", "give https://…")
        certificate = config.load(paths.default_home(), None).team.certificate
        server = Server(url, {}, certificate=certificate)
        try:
            server.request("GET", "/v1/health")  # an address where none answers is not kept
        finally:
            server.close()
        config.set_value(paths.user_file(), "team.url", url)
    with opened(space) as memory:
        again = memory.team.state().left or not url
        output = _login(memory) if url else Output({"left": False}, AGAIN)
        if again:
            memory.team.join()
    if url:
        output = output._replace(notes=[f"team.url is {url}", *[AGAIN] * again])
    return emit(output, as_json)


@team.command()
@click.argument("url", metavar="URL", envvar="DATABASE_URL")
@json_command
def check(url: str) -> Output:
    """Print the SQL that a database administrator has to run for the team's server.

    URL is that of the database, with the user that the server has. Everything is tried there and
    undone. Exit 1 if something is missing. Tables in a schema of another name:
    postgresql://user@host/database?schema=NAME

    \b
    Examples:
      kinen team check postgresql://kinen@db.example/kinen
    """
    require("kinen team", "postgres")
    from kinen.postgres.connection import Database
    from kinen.team.roles import check
    from kinen.team.schema import MIGRATIONS

    with Database(url, application="kinen team", most=1) as db:
        state = check(db, MIGRATIONS)
        place = db.place
    who = f"PostgreSQL {state.server}, user {state.user}, schema {state.schema}"
    lines = [f"{statement};" for statement in state.needed]
    if state.optional:
        lines.append("-- for `kinen team member add` alone:")
        lines += [f"{statement};" for statement in state.optional]
    if state.words:
        lines.append("-- for quick searches with `kinen search --engine` alone:")
        lines += [f"{statement};" for statement in state.words]
    data = {**state._asdict(), "ready": not state.needed}
    notes = [f"ready: {who}"]
    if state.needed:
        notes = [f"not ready: {who}; a database administrator has to run this at {place}"]
    return Output(data, "\n".join(lines), found=not state.needed, notes=notes)


@team.command("migrate")
@click.option("--dry-run", is_flag=True, help="say what would run; everything is undone")
@database_option
@json_command
def migrate_tables(dry_run: bool, database: str) -> Output:
    """Bring the tables of the team, and of an index beside them, up to date before servers start.

    A server does the same for the team when it starts, `kinen index --engine` for the index.
    Processes wait for each other. Servers of the version before go on working, and searches read
    the tables before until all spaces of an index have moved.
    """
    require("kinen team", "postgres")
    from kinen.postgres import schema as index
    from kinen.postgres.connection import Database
    from kinen.postgres.migrations import pending
    from kinen.team.schema import MIGRATIONS, prepare

    with Database(database, application="kinen team", most=1) as db:
        names = [f"{each.number} {each.name}" for each in pending(db, "team", MIGRATIONS)]
        missing = pending(db, "index", index.MIGRATIONS)
        has_index = len(missing) < len(index.MIGRATIONS)
        if has_index:
            names += [f"index {each.number} {each.name}" for each in missing]
        if not dry_run:
            prepare(db)
            if has_index:
                index.prepare(db)
        place = db.place
    note = f"{place}: {counted(len(names), 'migrations')} {'to run' if dry_run else 'ran'}"
    return Output({"migrations": names, "dry_run": dry_run}, "\n".join(names), notes=[note])


@team.group()
def token() -> None:
    """Tokens of people and agents for `kinen serve --team`; run it where the database is."""


@token.command("create")
@click.argument("name")
@options(
    spaces=option("--allow", "SPACE", "a space that it opens, * for all", many=True, separator="")
)
@options(
    rights=option(
        "--right",
        "RIGHT",
        "read, write, admin or metrics (default: read, write)",
        many=True,
        separator="",
    )
)
@options(valid_days=param("--valid-days", "days until it expires", 90, least=1, metavar="N"))
@database_option
@json_command
def create_token(
    name: str, spaces: tuple[str, ...], rights: tuple[str, ...], valid_days: int, database: str
) -> Output:
    """Make a token for NAME and print it once; only a digest is stored.

    \b
    Examples:
      kinen team token create ada --allow github.com/acme/shop --database postgresql:///kinen
      kinen team token create prometheus --allow '*' --right metrics --database postgresql:///kinen
    """
    from kinen.team import tokens

    with _database(database) as db:
        text, token = tokens.create(db, name, spaces, rights or ("read", "write"), valid_days)
    data = {**_token_json(token), "token": text}
    return Output(data, text, notes=[f"token {token.id} of {token.person}: it is not shown again"])


@token.command("list")
@database_option
@json_command
def list_tokens(database: str) -> Output:
    """List tokens, the newest first."""
    from kinen.team import tokens

    with _database(database) as db:
        entries = tokens.tokens(db)
    rows = [_token_json(entry) for entry in entries]
    lines = [
        f"{row['id']}  {row['person']}  {row['state']}  until {row['expires_at'][:10]}"
        f"  {','.join(row['rights'])}  {','.join(row['spaces'])}"
        for row in rows
    ]
    return _listed({"tokens": rows}, lines, "no tokens: `kinen team token create` makes one")


@token.command("revoke")
@click.argument("id_", metavar="ID")
@database_option
@json_command
def revoke_token(id_: str, database: str) -> Output:
    """End a token at once. ID is its first part, as `kinen team token list` shows it."""
    from kinen.team import tokens

    with _database(database) as db:
        tokens.revoke(db, id_)
    return Output({"revoked": id_}, f"revoked {id_}")


@token.command("rotate")
@click.argument("id_", metavar="ID")
@options(valid_days=param("--valid-days", "days until it expires", 90, least=1, metavar="N"))
@options(
    keep_hours=param("--keep-hours", "hours that the old one stays valid", 24, least=0, metavar="N")
)
@database_option
@json_command
def rotate_token(id_: str, valid_days: int, keep_hours: int, database: str) -> Output:
    """Make a new token with the rights of another, which ends after --keep-hours (24)."""
    from kinen.team import tokens

    with _database(database) as db:
        text, token = tokens.rotate(db, id_, valid_days, keep_hours)
    data = {**_token_json(token), "token": text, "replaced": id_}
    notes = [f"token {token.id} of {token.person}: it is not shown again"]
    return Output(data, text, notes=[*notes, f"{id_} ends in {counted(keep_hours, 'hours')}"])


@team.group("space")
def space_group() -> None:
    """Spaces of the team; run it where the database is."""


@space_group.command("list")
@database_option
@json_command
def list_spaces(database: str) -> Output:
    """List the team's spaces: entries, size, people, and the number of the newest change."""
    from kinen.team import admin

    with _database(database) as db:
        rows = [row._asdict() for row in admin.spaces(db)]
    lines = [
        f"{row['name']}  {counted(row['entries'], 'entries')} ({row['erased']:,} erased)"
        f"  {row['bytes'] / 1e3:,.0f} kB  {counted(row['people'], 'people')}"
        f"  change {row['changes']:,}"
        for row in rows
    ]
    return _listed({"spaces": rows}, lines, "no spaces: nobody has synced yet")


@space_group.command("rename")
@click.argument("old")
@click.argument("new")
@database_option
@json_command
def rename_space(old: str, new: str, database: str) -> Output:
    """Give a space another name, also in tokens and logins.

    Machines find it by the new remote, or by `team.space`.
    """
    from kinen.team import admin

    with _database(database) as db:
        count = admin.rename_space(db, old, new)
    data = {"renamed": old, "space": new, "entries": count}
    return Output(data, f"{old} is {new} now, {counted(count, 'entries')}")


@space_group.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="delete it; otherwise only say what would go")
@database_option
@json_command
def delete_space(name: str, yes: bool, database: str) -> Output:
    """Delete a space with its entries on the server, and the rights to it.

    Machines keep what they have. Tokens for this space alone end.
    """
    from kinen.errors import NotFound
    from kinen.team import admin

    with _database(database) as db:
        space = next((row for row in admin.spaces(db) if row.name == name), None)
        if space is None:
            raise NotFound(f"no space {name!r}", "`kinen team space list` shows them")
        count = admin.delete_space(db, name) if yes else space.entries
    notes = [] if yes else ["nothing was deleted: repeat it with --yes"]
    data = {"space": name, "deleted": yes, "entries": count}
    return Output(data, f"{name}: {counted(count, 'entries')}", notes=notes)


@team.group()
def person() -> None:
    """People of the team; run it where the database is."""


@person.command("list")
@database_option
@json_command
def list_people(database: str) -> Output:
    """List people: what they wrote, their valid tokens and their last request."""
    from kinen.team import admin

    with _database(database) as db:
        entries = admin.people(db)
    rows = [
        {
            **row._asdict(),
            "last_request": row.last_request.isoformat() if row.last_request else None,
        }
        for row in entries
    ]
    lines = [
        f"{row['name']}  {counted(row['entries'], 'entries')} in"
        f" {counted(row['spaces'], 'spaces')}  {counted(row['tokens'], 'tokens')}"
        f"  last request {(row['last_request'] or 'never')[:19]}"
        for row in rows
    ]
    return _listed({"people": rows}, lines, "nobody yet: `kinen team token create` begins")


@person.command("erase")
@click.argument("name")
@click.option("--yes", is_flag=True, help="erase it; otherwise only say what would go")
@database_option
@json_command
def erase_person(name: str, yes: bool, database: str) -> Output:
    """Take back everything that somebody who left wrote, in all spaces, and end their tokens.

    Colleagues' machines lose it at their next sync; their own machine keeps it.
    """
    from kinen.errors import NotFound
    from kinen.team import admin

    with _database(database) as db:
        member = next((row for row in admin.people(db) if row.name == name), None)
        if member is None:
            raise NotFound(f"no person {name!r}", "`kinen team person list` shows them")
        count, ended = admin.erase_person(db, name) if yes else (member.entries, member.tokens)
    notes = [] if yes else ["nothing was erased: repeat it with --yes"]
    data = {"person": name, "erased": yes, "entries": count, "tokens": ended}
    text = f"{name}: {counted(count, 'entries')}, {counted(ended, 'tokens')}"
    return Output(data, text, notes=notes)


@team.command()
@options(
    name=option("--name", "NAME", "only requests of this person"),
    space_name=option("--allow", "SPACE", "only requests of this space"),
    last_days=param("--last-days", "how far to look back", 7, least=1, metavar="N"),
    limit=param("--limit -n", "lines at most; 0 for all", 100, least=0, metavar="N"),
    keep_days=param("--keep-days", "first remove what is older; 0 removes nothing", 0, metavar="N"),
)
@database_option
@json_command
def audit(
    name: str, space_name: str, last_days: int, limit: int, keep_days: int, database: str
) -> Output:
    """List who did what on the team's server, the newest first. Texts are not in it.

    \b
    Examples:
      kinen team audit --name ada --last-days 30 --json --database postgresql:///kinen
      kinen team audit --keep-days 90 --database postgresql:///kinen
    """
    from kinen.team import audit

    with _database(database) as db:
        removed = audit.forget_before(db, keep_days) if keep_days else 0
        entries = audit.lines(db, person=name, space=space_name, days=last_days, limit=limit)
    rows = [{**line._asdict(), "at": line.at.isoformat()} for line in entries]
    lines = [
        (
            f"{row['at'][:19]}  {row['status']}  {row['person']}  {row['action']}  {row['space']}"
            f"  {counted(row['entries'], 'entries')}  {' '.join([*row['refs'], *row['changed']])}"
        ).rstrip()
        for row in rows
    ]
    output = _listed({"requests": rows, "removed": removed}, lines, "no requests")
    if removed:
        return output._replace(notes=[*output.notes, f"removed {counted(removed, 'requests')}"])
    return output


@team.group()
def member() -> None:
    """People with a login of their own in the database, who read without a server."""


@member.command("add")
@click.argument("role")
@options(space_name=option("--allow", "SPACE", "the space that the login may read"))
@options(name=option("--name", "NAME", "the person's name in the team (default: the login)"))
@database_option
@json_command
def add_member(role: str, space_name: str, name: str, database: str) -> Output:
    """Let the login ROLE of the database read one space, by row-level security.

    A login does not write: entries are checked and masked by `kinen serve --team`, which takes them
    with a token.
    """
    from kinen.team import admin

    if not space_name:
        raise QueryError("no space was named", "name it with --allow")
    with _database(database) as db:
        admin.add_member(db, role, space_name, name or role)
    return Output({"role": role, "space": space_name}, f"{role} may read {space_name}")


@member.command("remove")
@click.argument("role")
@options(space_name=option("--allow", "SPACE", "the space that the login may no longer read"))
@database_option
@json_command
def remove_member(role: str, space_name: str, database: str) -> Output:
    """Take the right to a space back from a login; without --allow, to all of them."""
    from kinen.team import admin

    with _database(database) as db:
        count = admin.remove_member(db, role, space_name)
    return Output({"role": role, "removed": count}, f"{role} lost {counted(count, 'spaces')}")


def _listed(data: dict[str, Any], lines: list[str], empty: str) -> Output:
    return listing(data, "\n".join(map(visible_line, lines)), lines, empty)


def _token_json(entry: Any) -> dict[str, Any]:
    from datetime import UTC, datetime

    state = "valid"
    if entry.revoked_at:
        state = "revoked"
    elif entry.expires_at <= datetime.now(UTC):
        state = "expired"
    return {
        "id": entry.id,
        "person": entry.person,
        "spaces": list(entry.spaces),
        "rights": list(entry.rights),
        "state": state,
        "created_at": entry.created_at.isoformat(),
        "expires_at": entry.expires_at.isoformat(),
    }


def _database(url: str) -> Database:
    require("kinen team", "postgres")
    from kinen.postgres.connection import Database
    from kinen.team.schema import prepare

    database = Database(url, application="kinen team", most=1)
    prepare(database)
    return database
