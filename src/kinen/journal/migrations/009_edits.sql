-- The memory whose wording a memory replaced: edits of one memory are versions of it.
ALTER TABLE memories ADD COLUMN edits TEXT NOT NULL DEFAULT '';
UPDATE memories SET edits = IFNULL(json_extract(meta.value, '$.edits'), '') FROM meta
  WHERE meta.key = 'team.extra memory:' || memories.id AND forgotten_at = 0;
CREATE INDEX memories_edits ON memories(edits) WHERE edits != '';
-- 1 if a ref is hidden only because another version of it is the one that is shown: this is
-- computed from the edits (journal/edits.py), and neither shared nor exported.
ALTER TABLE suppressed ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER suppressed_for_good AFTER UPDATE OF at ON suppressed WHEN new.replaced = 1 BEGIN
  UPDATE suppressed SET replaced = 0 WHERE ref = new.ref;
  INSERT INTO changes(ref) VALUES (new.ref); END;
