-- A journal as the first migration made it, with every table in use. Never change this file.
PRAGMA user_version=1;
BEGIN TRANSACTION;
CREATE TABLE capsules(
  id TEXT NOT NULL PRIMARY KEY, type TEXT NOT NULL, intent TEXT NOT NULL, status TEXT NOT NULL,
  opened_at INTEGER NOT NULL, closed_at INTEGER NOT NULL DEFAULT 0, reason TEXT NOT NULL DEFAULT '',
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '',
  forgotten_at INTEGER NOT NULL DEFAULT 0);
INSERT INTO "capsules" VALUES('01KDWMA8G0AAAAAAAAAAAAAA01','session','make the kettle whistle','closed',1767261600000,1767261609000,'','s1','https://example.org/team/tool','claude-code','ada','T-7',0);
INSERT INTO "capsules" VALUES('01KDWMA8G0AAAAAAAAAAAAAA02','pocketflow_node','it''s "quoted"; -- 薬缶','closed',1767261610000,1767261612000,'abandoned','s2','','','','',0);
INSERT INTO "capsules" VALUES('01KDWMA8G0AAAAAAAAAAAAAA03','session','still open','open',1767261620000,0,'','s3','','','','',0);
CREATE TABLE memories(
  id TEXT NOT NULL PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL,
  confidence REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  derived_from TEXT NOT NULL DEFAULT '[]', superseded_by TEXT NOT NULL DEFAULT '',
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '',
  redacted INTEGER NOT NULL DEFAULT 0, forgotten_at INTEGER NOT NULL DEFAULT 0);
INSERT INTO "memories" VALUES('01KDWMA8G0EEEEEEEEEEEEEE01','decision','Kettles whistle at 100 °C.',0.8,1767261609500,'["summary:01KDWMA8G0CCCCCCCCCCCCCC01"]','','s1','https://example.org/team/tool','claude-code','ada','T-7',0,0);
INSERT INTO "memories" VALUES('01KDWMA8G0EEEEEEEEEEEEEE02','insight','[redacted]',1.0,1767261609600,'[]','01KDWMA8G0EEEEEEEEEEEEEE01','','','','','',1,0);
CREATE TABLE observations(
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, content TEXT NOT NULL,
  provenance TEXT NOT NULL DEFAULT '{}', ts INTEGER NOT NULL,
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '', capsule TEXT NOT NULL DEFAULT '',
  branch TEXT NOT NULL DEFAULT '', head TEXT NOT NULL DEFAULT '',
  files TEXT NOT NULL DEFAULT '[]', masked TEXT NOT NULL DEFAULT '{}',
  redacted INTEGER NOT NULL DEFAULT 0, forgotten_at INTEGER NOT NULL DEFAULT 0);
INSERT INTO "observations" VALUES(1,'01KDWMA8G0BBBBBBBBBBBBBB01','message','The kettle does not whistle: 沸騰しない 🫖','{"role": "user"}',1767261601000,'s1','https://example.org/team/tool','claude-code','ada','T-7','01KDWMA8G0AAAAAAAAAAAAAA01','main','9fceb02d0ae598e95dc970b74767f19372d61af8','["src/kettle.py"]','{}',0,0);
INSERT INTO "observations" VALUES(2,'01KDWMA8G0BBBBBBBBBBBBBB02','command','$ pytest -q
1 failed','{"command": "pytest -q", "exitCode": 1}',1767261602000,'s1','https://example.org/team/tool','claude-code','ada','T-7','01KDWMA8G0AAAAAAAAAAAAAA01','','','[]','{"count": 1, "classes": ["github_token"]}',0,0);
INSERT INTO "observations" VALUES(3,'01KDWMA8G0BBBBBBBBBBBBBB03','error','[redacted]','{}',1767261603000,'s1','https://example.org/team/tool','claude-code','ada','T-7','01KDWMA8G0AAAAAAAAAAAAAA01','','','[]','{}',1,0);
INSERT INTO "observations" VALUES(4,'01KDWMA8G0BBBBBBBBBBBBBB04','node_end','','{}',1767261611000,'s2','','','','','01KDWMA8G0AAAAAAAAAAAAAA02','','','[]','{}',0,1767261615000);
INSERT INTO "observations" VALUES(5,'01KDWMA8G0BBBBBBBBBBBBBB05','message','alone, in no capsule','{}',1767261630000,'','','','','','','','','[]','{}',0,0);
CREATE TABLE pins(
  id TEXT NOT NULL PRIMARY KEY, target_type TEXT NOT NULL, target_id TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0,
  session TEXT NOT NULL DEFAULT '', repo TEXT NOT NULL DEFAULT '', agent TEXT NOT NULL DEFAULT '',
  user TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '');
INSERT INTO "pins" VALUES('01KDWMA8G0DDDDDDDDDDDDDD01','observation','01KDWMA8G0BBBBBBBBBBBBBB01','read this first',1767261605000,0,'s1','https://example.org/team/tool','claude-code','ada','T-7');
INSERT INTO "pins" VALUES('01KDWMA8G0DDDDDDDDDDDDDD02','note','notes/tea.md','',1767261606000,1767261607000,'','','','','');
CREATE TABLE schema_migrations(
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL);
INSERT INTO "schema_migrations" VALUES(1,'001_journal.sql',1767261599000);
CREATE TABLE summaries(
  id TEXT NOT NULL PRIMARY KEY, capsule TEXT NOT NULL, content TEXT NOT NULL,
  confidence REAL NOT NULL DEFAULT 1.0, created_at INTEGER NOT NULL,
  evidence_refs TEXT NOT NULL DEFAULT '[]', written INTEGER NOT NULL DEFAULT 1,
  redacted INTEGER NOT NULL DEFAULT 0, forgotten_at INTEGER NOT NULL DEFAULT 0);
INSERT INTO "summaries" VALUES('01KDWMA8G0CCCCCCCCCCCCCC01','01KDWMA8G0AAAAAAAAAAAAAA01','The whistle was **blocked**.',0.9,1767261609000,'["01KDWMA8G0BBBBBBBBBBBBBB01", "01KDWMA8G0BBBBBBBBBBBBBB02"]',1,0,0);
INSERT INTO "summaries" VALUES('01KDWMA8G0CCCCCCCCCCCCCC02','01KDWMA8G0AAAAAAAAAAAAAA02','Nothing was recorded.',0.5,1767261612000,'[]',0,0,0);
CREATE INDEX observations_ts ON observations(ts, id);
CREATE INDEX observations_capsule ON observations(capsule, ts, id) WHERE capsule != '';
CREATE INDEX capsules_open ON capsules(session, type) WHERE status = 'open';
CREATE INDEX capsules_opened ON capsules(opened_at, id);
CREATE INDEX summaries_capsule ON summaries(capsule);
CREATE INDEX pins_target ON pins(target_id);
COMMIT;
