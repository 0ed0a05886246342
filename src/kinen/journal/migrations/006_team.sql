-- What the team knows of an entry, and whether it has the newest version. Empty without a team.
-- Stamps are by field: the number of changes, the machine, a digest of the value; no text.
CREATE TABLE team_entries(
  noun TEXT NOT NULL, id TEXT NOT NULL, author TEXT NOT NULL, machine TEXT NOT NULL,
  stamps TEXT NOT NULL, cleaned TEXT NOT NULL DEFAULT '[]', forgotten INTEGER NOT NULL DEFAULT 0,
  withdrawn INTEGER NOT NULL DEFAULT 0, erased INTEGER NOT NULL DEFAULT 0,
  pending INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(noun, id)) WITHOUT ROWID;
CREATE INDEX team_pending ON team_entries(erased, noun, id) WHERE pending;
