CREATE TRIGGER capsule_added AFTER INSERT ON capsules BEGIN
  INSERT INTO changes(ref) VALUES ('capsule:' || new.id); END;
CREATE TRIGGER capsule_changed AFTER UPDATE ON capsules BEGIN
  INSERT INTO changes(ref) VALUES ('capsule:' || new.id); END;
CREATE TRIGGER capsule_erased AFTER UPDATE ON capsules
  WHEN new.forgotten_at > old.forgotten_at
    OR (new.intent = '[redacted]' AND old.intent != '[redacted]') BEGIN
  INSERT INTO erased(ref) VALUES ('capsule:' || new.id); END;
CREATE TRIGGER memory_added AFTER INSERT ON memories BEGIN
  INSERT INTO changes(ref) VALUES ('memory:' || new.id); END;
CREATE TRIGGER memory_changed AFTER UPDATE ON memories BEGIN
  INSERT INTO changes(ref) VALUES ('memory:' || new.id); END;
CREATE TRIGGER memory_erased AFTER UPDATE ON memories
  WHEN new.redacted > old.redacted OR new.forgotten_at > old.forgotten_at BEGIN
  INSERT INTO erased(ref) VALUES ('memory:' || new.id); END;
CREATE TRIGGER observation_changed AFTER UPDATE ON observations BEGIN
  INSERT INTO changes(ref) VALUES ('observation:' || new.id); END;
CREATE TRIGGER observation_erased AFTER UPDATE ON observations
  WHEN new.redacted > old.redacted OR new.forgotten_at > old.forgotten_at BEGIN
  INSERT INTO erased(ref) VALUES ('observation:' || new.id); END;
CREATE TRIGGER pin_added AFTER INSERT ON pins BEGIN
  INSERT INTO changes(ref) VALUES ('pin:' || new.id); END;
CREATE TRIGGER pin_changed AFTER UPDATE ON pins BEGIN
  INSERT INTO changes(ref) VALUES ('pin:' || new.id); END;
CREATE TRIGGER pin_erased AFTER UPDATE ON pins
  WHEN new.reason = '[redacted]' AND old.reason != '[redacted]' BEGIN
  INSERT INTO erased(ref) VALUES ('pin:' || new.id); END;
CREATE TRIGGER pin_removed AFTER DELETE ON pins BEGIN
  INSERT INTO changes(ref) VALUES ('pin:' || old.id); END;
CREATE TRIGGER ref_hidden AFTER INSERT ON suppressed BEGIN
  INSERT INTO erased(ref) VALUES (new.ref); END;
CREATE TRIGGER summary_added AFTER INSERT ON summaries BEGIN
  INSERT INTO changes(ref) VALUES ('summary:' || new.id); END;
CREATE TRIGGER summary_changed AFTER UPDATE ON summaries BEGIN
  INSERT INTO changes(ref) VALUES ('summary:' || new.id); END;
CREATE TRIGGER summary_erased AFTER UPDATE ON summaries
  WHEN new.redacted > old.redacted OR new.forgotten_at > old.forgotten_at BEGIN
  INSERT INTO erased(ref) VALUES ('summary:' || new.id); END;
CREATE TRIGGER summary_removed AFTER DELETE ON summaries BEGIN
  INSERT INTO changes(ref) VALUES ('summary:' || old.id); END;
CREATE TRIGGER suppressed_added AFTER INSERT ON suppressed BEGIN
  INSERT INTO changes(ref) VALUES (new.ref); END;
CREATE TRIGGER suppressed_for_good AFTER UPDATE OF at ON suppressed WHEN new.replaced = 1 BEGIN
  UPDATE suppressed SET replaced = 0 WHERE ref = new.ref;
  INSERT INTO changes(ref) VALUES (new.ref); END;
CREATE TRIGGER suppressed_removed AFTER DELETE ON suppressed BEGIN
  INSERT INTO changes(ref) VALUES (old.ref); END;
CREATE TABLE capsules(
  id TEXT NOT NULL PRIMARY KEY, type TEXT NOT NULL, intent TEXT NOT NULL, status TEXT NOT NULL,
  opened_at INTEGER NOT NULL, closed_at INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '',
  forgotten_at INTEGER NOT NULL DEFAULT 0, parent TEXT NOT NULL DEFAULT '');
CREATE TABLE changes(seq INTEGER PRIMARY KEY AUTOINCREMENT, ref TEXT NOT NULL);
CREATE TABLE erased(seq INTEGER PRIMARY KEY AUTOINCREMENT, ref TEXT NOT NULL);
CREATE TABLE memories(
  id TEXT NOT NULL PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL,
  confidence REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  derived_from TEXT NOT NULL DEFAULT '[]', superseded_by TEXT NOT NULL DEFAULT '',
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '',
  redacted INTEGER NOT NULL DEFAULT 0, forgotten_at INTEGER NOT NULL DEFAULT 0, edits TEXT NOT NULL DEFAULT '');
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE observations(
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, content TEXT NOT NULL,
  provenance TEXT NOT NULL DEFAULT '{}', ts INTEGER NOT NULL,
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '', capsule TEXT NOT NULL DEFAULT '',
  branch TEXT NOT NULL DEFAULT '', head TEXT NOT NULL DEFAULT '',
  files TEXT NOT NULL DEFAULT '[]', masked TEXT NOT NULL DEFAULT '{}',
  redacted INTEGER NOT NULL DEFAULT 0, forgotten_at INTEGER NOT NULL DEFAULT 0, role AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.role') END), event AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.event') END), command AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.command') END), exit_code AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.exitCode') END), has_error AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.hasError') END), interrupted AS
  (CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.interrupted') END));
CREATE TABLE pins(
  id TEXT NOT NULL PRIMARY KEY, target_type TEXT NOT NULL, target_id TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0,
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '');
CREATE TABLE schema_migrations(
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL);
CREATE TABLE sqlite_sequence(name,seq);
CREATE TABLE summaries(
  id TEXT NOT NULL PRIMARY KEY, capsule TEXT NOT NULL, content TEXT NOT NULL,
  confidence REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  evidence_refs TEXT NOT NULL DEFAULT '[]', written INTEGER NOT NULL DEFAULT 1,
  redacted INTEGER NOT NULL DEFAULT 0, forgotten_at INTEGER NOT NULL DEFAULT 0);
CREATE TABLE suppressed(ref TEXT PRIMARY KEY, at INTEGER NOT NULL, replaced INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE tag_ops(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
  op TEXT NOT NULL, tag TEXT NOT NULL, head TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL);
CREATE TABLE team_entries(
  noun TEXT NOT NULL, id TEXT NOT NULL, author TEXT NOT NULL, machine TEXT NOT NULL,
  stamps TEXT NOT NULL, cleaned TEXT NOT NULL DEFAULT '[]', forgotten INTEGER NOT NULL DEFAULT 0,
  withdrawn INTEGER NOT NULL DEFAULT 0, erased INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(noun, id)) WITHOUT ROWID;
CREATE INDEX capsules_open ON capsules(session, type) WHERE status = 'open';
CREATE INDEX capsules_opened ON capsules(opened_at, id);
CREATE INDEX capsules_parent ON capsules(parent, opened_at, id) WHERE parent != '';
CREATE INDEX memories_edits ON memories(edits) WHERE edits != '';
CREATE INDEX observations_capsule ON observations(capsule, ts, id) WHERE capsule != '';
CREATE INDEX observations_ts ON observations(ts, id);
CREATE INDEX pins_target ON pins(target_id);
CREATE INDEX summaries_capsule ON summaries(capsule);
CREATE INDEX team_pending ON team_entries(erased, noun, id) WHERE pending;
