"""The tables of a team in PostgreSQL, and who may see which rows of them.

Two roles without a login have rights; `team.roles` makes them. `kinen_team` is what the server
becomes for each request: it sees the space that the request names and the server has checked.
`kinen_member` is for people who connect to the database themselves: they read the spaces that
`kinen.team_member` lists for their login. The rows of everybody else do not exist for either of
them. Only the server writes: entries are checked and masked by kinen, and a login could send
anything.
"""

from __future__ import annotations

from kinen.postgres.connection import Database
from kinen.postgres.migrations import Migration, migrate
from kinen.team.roles import provide

SERVER_ROLE = "kinen_team"
MEMBER_ROLE = "kinen_member"
_TABLES = """
CREATE TABLE kinen.team_space (
    space text PRIMARY KEY,
    seq bigint NOT NULL DEFAULT 0
);
CREATE TABLE kinen.team_entry (
    space text NOT NULL,
    noun text NOT NULL,
    id text NOT NULL,
    author text NOT NULL,
    version text NOT NULL,
    erased boolean NOT NULL,
    forgotten boolean NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (space, noun, id)
);
CREATE INDEX team_entry_seq ON kinen.team_entry (space, seq);
CREATE INDEX team_entry_erased ON kinen.team_entry (space, seq) WHERE erased;
CREATE INDEX team_entry_author ON kinen.team_entry (space, author);
CREATE TABLE kinen.team_token (
    id text PRIMARY KEY,
    digest bytea NOT NULL,
    person text NOT NULL,
    spaces text[] NOT NULL,
    rights text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE TABLE kinen.team_member (
    role text NOT NULL,
    space text NOT NULL,
    person text NOT NULL,
    writes boolean NOT NULL,
    PRIMARY KEY (role, space)
);
CREATE TABLE kinen.team_audit (
    at timestamptz NOT NULL DEFAULT now(),
    person text NOT NULL,
    token text NOT NULL,
    action text NOT NULL,
    space text NOT NULL,
    entries int NOT NULL,
    status int NOT NULL
);
CREATE INDEX team_audit_at ON kinen.team_audit (at);

CREATE FUNCTION kinen.team_may(wanted text, writing boolean) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM kinen.team_member m
        WHERE m.role = session_user AND m.space = wanted AND (m.writes OR NOT writing))
$$;
CREATE FUNCTION kinen.team_person(wanted text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT m.person FROM kinen.team_member m WHERE m.role = session_user AND m.space = wanted
$$;
CREATE FUNCTION kinen.team_check() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    person text := kinen.team_person(NEW.space);
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF person IS NOT NULL AND NEW.author <> person THEN
            RAISE insufficient_privilege USING MESSAGE = 'an entry has the name of its author';
        END IF;
    ELSIF OLD.forgotten AND NOT NEW.forgotten THEN
        RAISE insufficient_privilege USING MESSAGE = 'a forgotten entry stays forgotten';
    ELSIF NEW.author <> OLD.author
            AND (NEW.noun <> 'memory' OR NEW.author <> coalesce(person, NEW.author)) THEN
        RAISE insufficient_privilege USING MESSAGE = 'an entry keeps its author';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER team_check BEFORE INSERT OR UPDATE ON kinen.team_entry
    FOR EACH ROW EXECUTE FUNCTION kinen.team_check();

GRANT SELECT, INSERT, UPDATE ON kinen.team_space, kinen.team_entry TO kinen_team, kinen_member;
GRANT SELECT ON kinen.team_token TO kinen_team;
GRANT INSERT ON kinen.team_audit TO kinen_team;
GRANT SELECT ON kinen.migration TO kinen_team, kinen_member;
REVOKE ALL ON FUNCTION kinen.team_may, kinen.team_person FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kinen.team_may, kinen.team_person TO kinen_team, kinen_member;

ALTER TABLE kinen.team_space ENABLE ROW LEVEL SECURITY;
ALTER TABLE kinen.team_entry ENABLE ROW LEVEL SECURITY;
CREATE POLICY server ON kinen.team_space TO kinen_team
    USING (space = current_setting('kinen.space', true));
CREATE POLICY server ON kinen.team_entry TO kinen_team
    USING (space = current_setting('kinen.space', true));
CREATE POLICY reads ON kinen.team_space FOR SELECT TO kinen_member
    USING (kinen.team_may(space, false));
CREATE POLICY adds ON kinen.team_space FOR INSERT TO kinen_member
    WITH CHECK (kinen.team_may(space, true));
CREATE POLICY changes ON kinen.team_space FOR UPDATE TO kinen_member
    USING (kinen.team_may(space, true));
CREATE POLICY reads ON kinen.team_entry FOR SELECT TO kinen_member
    USING (kinen.team_may(space, false));
CREATE POLICY adds ON kinen.team_entry FOR INSERT TO kinen_member
    WITH CHECK (kinen.team_may(space, true));
CREATE POLICY changes ON kinen.team_entry FOR UPDATE TO kinen_member
    USING (kinen.team_may(space, true));
"""
_ADMINS = """
ALTER TABLE kinen.team_member ADD admin boolean NOT NULL DEFAULT false;
ALTER TABLE kinen.team_audit ADD refs text[] NOT NULL DEFAULT '{}';
CREATE TABLE kinen.team_browser (
    digest bytea PRIMARY KEY,
    token text NOT NULL REFERENCES kinen.team_token ON DELETE CASCADE,
    expires_at timestamptz NOT NULL
);
CREATE FUNCTION kinen.team_admin(wanted text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT EXISTS (SELECT 1 FROM kinen.team_member m
        WHERE m.role = session_user AND m.space = wanted AND m.admin)
$$;
CREATE OR REPLACE FUNCTION kinen.team_check() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    person text := kinen.team_person(NEW.space);
BEGIN
    IF TG_OP = 'INSERT' THEN
        -- an upsert comes here first: what exists is checked as the update that it becomes
        IF NEW.author <> person AND NOT EXISTS (SELECT 1 FROM kinen.team_entry e
                WHERE e.space = NEW.space AND e.noun = NEW.noun AND e.id = NEW.id) THEN
            RAISE insufficient_privilege USING MESSAGE = 'an entry has the name of its author';
        END IF;
    ELSIF OLD.forgotten AND NOT NEW.forgotten THEN
        RAISE insufficient_privilege USING MESSAGE = 'a forgotten entry stays forgotten';
    ELSIF NEW.author <> OLD.author THEN
        RAISE insufficient_privilege USING MESSAGE = 'an entry keeps its author';
    ELSIF NEW.forgotten AND NOT OLD.forgotten AND OLD.author <> person
            AND NEW.noun IN ('observation', 'capsule', 'summary', 'memory')
            AND NOT kinen.team_admin(NEW.space) THEN
        RAISE insufficient_privilege USING MESSAGE = 'an entry is forgotten by its author';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION kinen.team_admin FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kinen.team_admin TO kinen_team, kinen_member;
"""
_READERS = """
DROP POLICY adds ON kinen.team_space;
DROP POLICY changes ON kinen.team_space;
DROP POLICY adds ON kinen.team_entry;
DROP POLICY changes ON kinen.team_entry;
REVOKE ALL ON kinen.team_space, kinen.team_entry FROM kinen_member;
GRANT SELECT ON kinen.team_space, kinen.team_entry TO kinen_member;
CREATE OR REPLACE FUNCTION kinen.team_may(wanted text, writing boolean) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT NOT writing AND EXISTS (SELECT 1 FROM kinen.team_member m
        WHERE m.role = session_user AND m.space = wanted)
$$;
CREATE OR REPLACE FUNCTION kinen.team_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.forgotten AND NOT NEW.forgotten THEN
        RAISE insufficient_privilege USING MESSAGE = 'a forgotten entry stays forgotten';
    ELSIF NEW.author <> OLD.author THEN
        RAISE insufficient_privilege USING MESSAGE = 'an entry keeps its author';
    ELSIF NEW.seq <= OLD.seq THEN
        RAISE insufficient_privilege USING MESSAGE = 'a change has a higher number';
    END IF;
    RETURN NEW;
END $$;
DROP TRIGGER team_check ON kinen.team_entry;
CREATE TRIGGER team_check BEFORE UPDATE ON kinen.team_entry
    FOR EACH ROW EXECUTE FUNCTION kinen.team_check();
DROP FUNCTION kinen.team_admin;
ALTER TABLE kinen.team_member DROP writes, DROP admin;
ALTER TABLE kinen.team_audit ADD changed text[] NOT NULL DEFAULT '{}';
"""
_EPOCH = """
ALTER TABLE kinen.team_entry ADD print text NOT NULL DEFAULT '';
CREATE FUNCTION kinen.team_epoch() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    cluster text := '';
    line text := '';
BEGIN
    -- a restore makes new tables, another server has another identifier, and recovery to a point in
    -- time or a failover begins another timeline
    BEGIN
        SELECT system_identifier::text INTO cluster FROM pg_control_system();
        IF NOT pg_is_in_recovery() THEN
            line := left(pg_walfile_name(pg_current_wal_lsn()), 8);
        END IF;
    EXCEPTION WHEN insufficient_privilege THEN NULL;
    END;
    RETURN md5(concat_ws('.', cluster, line, 'kinen.team_space'::regclass::oid));
END $$;
CREATE OR REPLACE FUNCTION kinen.team_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.forgotten AND NOT NEW.forgotten THEN
        RAISE insufficient_privilege USING MESSAGE = 'a forgotten entry stays forgotten';
    ELSIF NEW.author <> OLD.author THEN
        RAISE insufficient_privilege USING MESSAGE = 'an entry keeps its author';
    ELSIF NEW.seq <= OLD.seq AND NEW.version <> OLD.version THEN
        RAISE insufficient_privilege USING MESSAGE = 'a change has a higher number';
    END IF;
    IF NEW.version <> OLD.version AND NEW.print = OLD.print THEN
        NEW.print := '';  -- a server of the version before wrote it
    END IF;
    RETURN NEW;
END $$;
"""
_SIGN_IN = """
ALTER TABLE kinen.team_token ADD grants jsonb;
CREATE TABLE kinen.team_identity (
    issuer text NOT NULL,
    subject text NOT NULL,
    person text NOT NULL UNIQUE,
    PRIMARY KEY (issuer, subject)
);
CREATE TABLE kinen.team_sign_in (
    digest bytea PRIMARY KEY,
    nonce text NOT NULL,
    verifier text NOT NULL,
    target text NOT NULL,
    expires_at timestamptz NOT NULL
);
"""
_VACUUM = """
-- a fifth of a large table would be dead before PostgreSQL looks
ALTER TABLE kinen.team_entry SET
    (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE kinen.team_audit SET
    (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.05);
"""
MIGRATIONS = (
    Migration(1, "tables", _TABLES),
    Migration(2, "admins and browsers", _ADMINS),
    Migration(3, "members read", _READERS),
    Migration(4, "epoch and fingerprints", _EPOCH),
    Migration(5, "sign-in by a provider", _SIGN_IN),
    Migration(6, "vacuum", _VACUUM),
)
NEWEST = MIGRATIONS[-1].number


def prepare(database: Database) -> None:
    """Bring roles and tables of a team up to date; needs the owner of the tables."""
    provide(database)
    migrate(database, "team", MIGRATIONS)
