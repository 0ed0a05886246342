-- The capsule that a capsule is a part of: a flow inside a flow, a subagent inside a session.
ALTER TABLE capsules ADD COLUMN parent TEXT NOT NULL DEFAULT '';
CREATE INDEX capsules_parent ON capsules(parent, opened_at, id) WHERE parent != '';
