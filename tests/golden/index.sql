CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN
  INSERT INTO search(rowid, title, heading, path, body, extra)
  VALUES (new.id, new.title, new.heading, new.path, new.body, new.extra); END;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
  INSERT INTO search(search, rowid, title, heading, path, body, extra)
  VALUES ('delete', old.id, old.title, old.heading, old.path, old.body, old.extra); END;
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY, record INTEGER NOT NULL, n INTEGER NOT NULL, title TEXT NOT NULL,
  heading TEXT NOT NULL, path TEXT NOT NULL, body TEXT NOT NULL, extra TEXT NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, page INTEGER NOT NULL,
  digest TEXT NOT NULL, segment TEXT NOT NULL, anchor INTEGER NOT NULL DEFAULT 0);
CREATE TABLE cites(commit_id INTEGER NOT NULL, type TEXT NOT NULL, sha TEXT NOT NULL,
  PRIMARY KEY(commit_id, type, sha)) WITHOUT ROWID;
CREATE TABLE commits(
  id INTEGER PRIMARY KEY, record INTEGER NOT NULL, sha TEXT NOT NULL UNIQUE, parents TEXT NOT NULL,
  at TEXT NOT NULL, width INTEGER NOT NULL, ops TEXT NOT NULL, place INTEGER NOT NULL DEFAULT 0);
CREATE TABLE files(
  id INTEGER PRIMARY KEY, record INTEGER NOT NULL, path INTEGER NOT NULL, extra INTEGER NOT NULL,
  commits INTEGER NOT NULL, last INTEGER NOT NULL, said TEXT NOT NULL);
CREATE TABLE links(
  record INTEGER NOT NULL, n INTEGER NOT NULL, written TEXT NOT NULL, text TEXT NOT NULL,
  heading TEXT NOT NULL, line INTEGER NOT NULL, embedded INTEGER NOT NULL, wiki INTEGER NOT NULL,
  target TEXT, PRIMARY KEY(record, n)) WITHOUT ROWID;
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE names USING fts5(words, tokenize='porter unicode61 remove_diacritics 2');
CREATE TABLE 'names_config'(k PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE 'names_content'(id INTEGER PRIMARY KEY, c0);
CREATE TABLE 'names_data'(id INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE 'names_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
CREATE TABLE 'names_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE paths(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, file INTEGER NOT NULL DEFAULT 0,
  present INTEGER NOT NULL DEFAULT 0);
CREATE TABLE records(
  id INTEGER PRIMARY KEY, ref TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, title TEXT NOT NULL,
  path TEXT NOT NULL, at TEXT NOT NULL, session TEXT NOT NULL, tags TEXT NOT NULL,
  metadata TEXT NOT NULL, aliases TEXT NOT NULL, dated INTEGER NOT NULL,
  source TEXT NOT NULL, key TEXT NOT NULL, repo TEXT NOT NULL, agent TEXT NOT NULL,
  user TEXT NOT NULL, event TEXT NOT NULL, parent TEXT NOT NULL, whole AS
  (CASE source WHEN 'journal' THEN json_patch(metadata, json_object('repo', NULLIF(repo, ''), 'agent', NULLIF(agent, ''), 'user', NULLIF(user, ''), 'event', NULLIF(event, ''), 'parent', NULLIF(parent, '')))
   ELSE metadata END));
CREATE VIRTUAL TABLE search USING fts5(
  title, heading, path, body, extra, content='chunks', content_rowid='id',
  tokenize='porter unicode61 remove_diacritics 2');
CREATE TABLE 'search_config'(k PRIMARY KEY, v) WITHOUT ROWID;
CREATE TABLE 'search_data'(id INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE 'search_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
CREATE TABLE 'search_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE states(
  source TEXT NOT NULL, key TEXT NOT NULL, stamp TEXT NOT NULL, digest TEXT NOT NULL,
  reason TEXT NOT NULL, PRIMARY KEY(source, key)) WITHOUT ROWID;
CREATE TABLE tags(
  tag TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY(tag, record)) WITHOUT ROWID;
CREATE TABLE touches(
  commit_id INTEGER NOT NULL, path INTEGER NOT NULL, status TEXT NOT NULL, before INTEGER NOT NULL,
  file INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(commit_id, path)) WITHOUT ROWID;
CREATE INDEX chunks_digest ON chunks(digest);
CREATE UNIQUE INDEX chunks_record ON chunks(record, n);
CREATE INDEX chunks_segment ON chunks(segment) WHERE segment != '';
CREATE INDEX cites_sha ON cites(sha);
CREATE INDEX files_path ON files(path);
CREATE INDEX links_target ON links(target);
CREATE INDEX paths_file ON paths(file) WHERE file != 0;
CREATE INDEX records_at ON records(at);
CREATE INDEX records_key ON records(source, key) WHERE key != '';
CREATE INDEX records_parent ON records(parent) WHERE parent != '';
CREATE INDEX records_path ON records(path) WHERE path != '';
CREATE INDEX tags_record ON tags(record);
CREATE INDEX touches_file ON touches(file, commit_id) WHERE file != 0;
CREATE INDEX touches_path ON touches(path, commit_id);
