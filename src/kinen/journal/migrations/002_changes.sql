-- What changed after it was written, in order, so that an index can follow without looking at all.
-- New observations need no row here: their own seq says it.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('id', lower(hex(randomblob(16))));
CREATE TABLE changes(seq INTEGER PRIMARY KEY AUTOINCREMENT, ref TEXT NOT NULL);
INSERT INTO changes(ref)
  SELECT 'capsule:' || id FROM capsules UNION ALL SELECT 'summary:' || id FROM summaries
  UNION ALL SELECT 'pin:' || id FROM pins UNION ALL SELECT 'memory:' || id FROM memories;
CREATE TRIGGER observation_changed AFTER UPDATE ON observations BEGIN
  INSERT INTO changes(ref) VALUES ('observation:' || new.id); END;
CREATE TRIGGER capsule_added AFTER INSERT ON capsules BEGIN
  INSERT INTO changes(ref) VALUES ('capsule:' || new.id); END;
CREATE TRIGGER capsule_changed AFTER UPDATE ON capsules BEGIN
  INSERT INTO changes(ref) VALUES ('capsule:' || new.id); END;
CREATE TRIGGER summary_added AFTER INSERT ON summaries BEGIN
  INSERT INTO changes(ref) VALUES ('summary:' || new.id); END;
CREATE TRIGGER summary_changed AFTER UPDATE ON summaries BEGIN
  INSERT INTO changes(ref) VALUES ('summary:' || new.id); END;
CREATE TRIGGER summary_removed AFTER DELETE ON summaries BEGIN
  INSERT INTO changes(ref) VALUES ('summary:' || old.id); END;
CREATE TRIGGER pin_added AFTER INSERT ON pins BEGIN
  INSERT INTO changes(ref) VALUES ('pin:' || new.id); END;
CREATE TRIGGER pin_changed AFTER UPDATE ON pins BEGIN
  INSERT INTO changes(ref) VALUES ('pin:' || new.id); END;
CREATE TRIGGER pin_removed AFTER DELETE ON pins BEGIN
  INSERT INTO changes(ref) VALUES ('pin:' || old.id); END;
CREATE TRIGGER memory_added AFTER INSERT ON memories BEGIN
  INSERT INTO changes(ref) VALUES ('memory:' || new.id); END;
CREATE TRIGGER memory_changed AFTER UPDATE ON memories BEGIN
  INSERT INTO changes(ref) VALUES ('memory:' || new.id); END;
