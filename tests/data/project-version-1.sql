-- A project's database as version 1 wrote it; its labels are in imported-0001.npz.
BEGIN TRANSACTION;
CREATE TABLE concepts (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
INSERT INTO "concepts" VALUES(1,'animal > cat');
INSERT INTO "concepts" VALUES(2,'animal > dog');
INSERT INTO "concepts" VALUES(3,'food > apple');
INSERT INTO "concepts" VALUES(4,'food > banana');
INSERT INTO "concepts" VALUES(5,'animal');
INSERT INTO "concepts" VALUES(6,'food');
CREATE TABLE events (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL,
            at REAL NOT NULL,
            annotator TEXT NOT NULL,
            item INTEGER NOT NULL REFERENCES items (number),
            concept INTEGER NOT NULL REFERENCES concepts (id),
            answer TEXT NOT NULL CHECK (answer IN ('yes', 'no', 'skip', 'undo')),
            undoes INTEGER REFERENCES events (seq),
            model INTEGER,
            UNIQUE (key, item, concept),
            CHECK ((answer = 'undo') = (undoes IS NOT NULL))
        );
INSERT INTO "events" VALUES(1,'k1',1700000000.5,'ann',0,1,'yes',NULL,NULL);
INSERT INTO "events" VALUES(2,'k1',1700000000.5,'ann',0,2,'no',NULL,NULL);
INSERT INTO "events" VALUES(3,'k2',1700000000.5,'ann',1,1,'yes',NULL,3);
INSERT INTO "events" VALUES(4,'k3',1700000000.5,'ann',1,1,'undo',3,NULL);
INSERT INTO "events" VALUES(5,'k4',1700000000.5,'bob',2,3,'skip',NULL,3);
INSERT INTO "events" VALUES(6,'k5',1700000000.5,'bob',1,2,'yes',NULL,3);
CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT, picture TEXT);
INSERT INTO "items" VALUES(0,'a','purrs',NULL);
INSERT INTO "items" VALUES(1,'b','barks',NULL);
INSERT INTO "items" VALUES(2,'c',NULL,'c.png');
CREATE TABLE leases (
            item INTEGER NOT NULL REFERENCES items (number),
            concept INTEGER NOT NULL REFERENCES concepts (id),
            annotator TEXT NOT NULL,
            until REAL NOT NULL,
            PRIMARY KEY (item, concept, annotator)
        ) WITHOUT ROWID;
INSERT INTO "leases" VALUES(2,4,'bob',1700000600.5);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('features','null');
INSERT INTO "meta" VALUES('files','1');
INSERT INTO "meta" VALUES('imported','"imported-0001.npz"');
INSERT INTO "meta" VALUES('items','3');
INSERT INTO "meta" VALUES('revision','2');
INSERT INTO "meta" VALUES('setting budget','500');
INSERT INTO "meta" VALUES('taxonomy','{"animal": {"children": {"cat": null, "dog": null}}, "food": {"children": {"apple": null, "banana": null}}}');
CREATE TABLE models (
            version INTEGER PRIMARY KEY, at REAL NOT NULL, learner TEXT, answers INTEGER, estimate TEXT, note TEXT
        );
INSERT INTO "models" VALUES(3,1700000000.0,'refine',0,'{"p@1": 0.5}',NULL);
CREATE TABLE trainings (
            id INTEGER PRIMARY KEY AUTOINCREMENT, started REAL NOT NULL, finished REAL, pid INTEGER NOT NULL, error TEXT
        );
INSERT INTO "trainings" VALUES(1,1700000000.0,1700000001.0,77,NULL);
CREATE INDEX events_of_entry ON events (item, concept);
CREATE INDEX events_of_annotator ON events (annotator, seq);
CREATE UNIQUE INDEX events_undone ON events (undoes) WHERE undoes IS NOT NULL;
CREATE TRIGGER events_never_change BEFORE UPDATE ON events
            BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_never_go BEFORE DELETE ON events
            BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE INDEX leases_of_annotator ON leases (annotator, until);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',6);
INSERT INTO "sqlite_sequence" VALUES('trainings',1);
COMMIT;
PRAGMA user_version = 1;
