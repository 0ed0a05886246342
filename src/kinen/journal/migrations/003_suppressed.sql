-- Files and commits that were redacted or forgotten: kinen cannot empty them, only not show them.
CREATE TABLE suppressed(ref TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER suppressed_added AFTER INSERT ON suppressed BEGIN
  INSERT INTO changes(ref) VALUES (new.ref); END;
CREATE TRIGGER suppressed_removed AFTER DELETE ON suppressed BEGIN
  INSERT INTO changes(ref) VALUES (old.ref); END;
