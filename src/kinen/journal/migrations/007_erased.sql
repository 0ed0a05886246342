-- Which entries lost their text, and which refs were hidden, in order: whoever reads an index that
-- is behind shows none of them. The refs stay, so that an index of any age can be compared.
CREATE TABLE erased(seq INTEGER PRIMARY KEY AUTOINCREMENT, ref TEXT NOT NULL);
CREATE TRIGGER observation_erased AFTER UPDATE ON observations
  WHEN new.redacted > old.redacted OR new.forgotten_at > old.forgotten_at BEGIN
  INSERT INTO erased(ref) VALUES ('observation:' || new.id); END;
CREATE TRIGGER summary_erased AFTER UPDATE ON summaries
  WHEN new.redacted > old.redacted OR new.forgotten_at > old.forgotten_at BEGIN
  INSERT INTO erased(ref) VALUES ('summary:' || new.id); END;
CREATE TRIGGER memory_erased AFTER UPDATE ON memories
  WHEN new.redacted > old.redacted OR new.forgotten_at > old.forgotten_at BEGIN
  INSERT INTO erased(ref) VALUES ('memory:' || new.id); END;
CREATE TRIGGER capsule_erased AFTER UPDATE ON capsules
  WHEN new.forgotten_at > old.forgotten_at
    OR (new.intent = '[redacted]' AND old.intent != '[redacted]') BEGIN
  INSERT INTO erased(ref) VALUES ('capsule:' || new.id); END;
CREATE TRIGGER pin_erased AFTER UPDATE ON pins
  WHEN new.reason = '[redacted]' AND old.reason != '[redacted]' BEGIN
  INSERT INTO erased(ref) VALUES ('pin:' || new.id); END;
CREATE TRIGGER ref_hidden AFTER INSERT ON suppressed BEGIN
  INSERT INTO erased(ref) VALUES (new.ref); END;
