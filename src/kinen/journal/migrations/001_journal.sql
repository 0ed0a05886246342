-- What agents did. Names as in Kindling's database where it has them; times are epoch milliseconds.
CREATE TABLE schema_migrations(
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL);
CREATE TABLE observations(
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, content TEXT NOT NULL,
  provenance TEXT NOT NULL DEFAULT '{}', ts INTEGER NOT NULL,
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '', capsule TEXT NOT NULL DEFAULT '',
  branch TEXT NOT NULL DEFAULT '', head TEXT NOT NULL DEFAULT '',
  files TEXT NOT NULL DEFAULT '[]', masked TEXT NOT NULL DEFAULT '{}',
  redacted INTEGER NOT NULL DEFAULT 0, forgotten_at INTEGER NOT NULL DEFAULT 0);
CREATE INDEX observations_ts ON observations(ts, id);
CREATE INDEX observations_capsule ON observations(capsule, ts, id) WHERE capsule != '';
CREATE TABLE capsules(
  id TEXT NOT NULL PRIMARY KEY, type TEXT NOT NULL, intent TEXT NOT NULL, status TEXT NOT NULL,
  opened_at INTEGER NOT NULL, closed_at INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '',
  forgotten_at INTEGER NOT NULL DEFAULT 0);
CREATE INDEX capsules_open ON capsules(session, type) WHERE status = 'open';
CREATE INDEX capsules_opened ON capsules(opened_at, id);
CREATE TABLE summaries(
  id TEXT NOT NULL PRIMARY KEY, capsule TEXT NOT NULL, content TEXT NOT NULL,
  confidence REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  evidence_refs TEXT NOT NULL DEFAULT '[]', written INTEGER NOT NULL DEFAULT 1,
  redacted INTEGER NOT NULL DEFAULT 0, forgotten_at INTEGER NOT NULL DEFAULT 0);
CREATE INDEX summaries_capsule ON summaries(capsule);
CREATE TABLE pins(
  id TEXT NOT NULL PRIMARY KEY, target_type TEXT NOT NULL, target_id TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0,
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '');
CREATE INDEX pins_target ON pins(target_id);
CREATE TABLE memories(
  id TEXT NOT NULL PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL,
  confidence REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  derived_from TEXT NOT NULL DEFAULT '[]', superseded_by TEXT NOT NULL DEFAULT '',
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '',
  redacted INTEGER NOT NULL DEFAULT 0, forgotten_at INTEGER NOT NULL DEFAULT 0);
