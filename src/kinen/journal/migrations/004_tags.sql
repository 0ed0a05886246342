-- Tags that people gave to files or took from them, with the commit that was the last one then.
CREATE TABLE tag_ops(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
  op TEXT NOT NULL, tag TEXT NOT NULL, head TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL);
