-- A database as the first version with feeds left it: two collections, two checks, and an account that follows.
PRAGMA foreign_keys = OFF;
PRAGMA application_id = 1113943148;
PRAGMA user_version = 2;
BEGIN TRANSACTION;
CREATE TABLE accounts (
    id            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL,
    name_key      TEXT    NOT NULL UNIQUE,     -- the name in lower case
    password_hash TEXT    NOT NULL,
    recovery_hash TEXT    NOT NULL,
    is_admin      INTEGER NOT NULL,
    is_disabled   INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL
, feed_id TEXT) STRICT;
INSERT INTO "accounts" VALUES(1,'alice','alice','no hash','no hash',1,0,1773144000000000,NULL);
INSERT INTO "accounts" VALUES(2,'bob','bob','no hash','no hash',0,0,1773144000000000,'tag:bell.example,2026-03-12:sitebell:2216e056e3a8477a:account:2');
CREATE TABLE changes (
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    n          INTEGER NOT NULL,
    at         INTEGER NOT NULL,               -- seconds since 1970
    shape      INTEGER NOT NULL,               -- kind, whether the head applies, precision, offset, nanoseconds
    url        TEXT    NOT NULL,               -- without the head of the collection, if it applies
    title      TEXT,
    details    TEXT,                           -- JSON
    PRIMARY KEY (collection, n)
) STRICT, WITHOUT ROWID;
INSERT INTO "changes" VALUES(1,1,1772323200,20,'a',NULL,NULL);
INSERT INTO "changes" VALUES(1,2,1772438400,37,'b',NULL,NULL);
INSERT INTO "changes" VALUES(1,5,1772323200,21,'b',NULL,NULL);
INSERT INTO "changes" VALUES(1,6,1773014400,22,'b',NULL,NULL);
INSERT INTO "changes" VALUES(2,3,1772323200,20,'barn',NULL,NULL);
INSERT INTO "changes" VALUES(2,4,1772496000,21,'tawny',NULL,NULL);
CREATE TABLE checks (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    site        INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    outcome     TEXT,
    summary     TEXT    NOT NULL DEFAULT '',
    new_changes INTEGER NOT NULL DEFAULT 0,
    requests    INTEGER NOT NULL DEFAULT 0,
    bytes       INTEGER NOT NULL DEFAULT 0,
    problems    TEXT                           -- JSON
) STRICT;
CREATE TABLE collections (
    id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    site            INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    identity        TEXT    NOT NULL,
    slug            TEXT    NOT NULL,
    feed_id         TEXT    NOT NULL,
    head            TEXT    NOT NULL,          -- what most of its pages' addresses begin with; never changes
    title           TEXT    NOT NULL,
    is_own          INTEGER NOT NULL,
    change_count    INTEGER NOT NULL DEFAULT 0,
    next_entry      INTEGER NOT NULL DEFAULT 0,
    last_processed  TEXT,                      -- as the source wrote it
    horizon         TEXT,                      -- to the nanosecond, unlike other instants: it is compared with datetimes
    covered_until   INTEGER,
    capability_list TEXT,
    described_by    TEXT,
    about           TEXT,                      -- JSON
    lists           TEXT,                      -- JSON
    UNIQUE (site, identity),
    UNIQUE (site, slug)
) STRICT;
INSERT INTO "collections" VALUES(1,1,'http://fox.example/','fox.example','tag:fox.example,2026-03-10:sitebell:2216e056e3a8477a:collection:1','http://fox.example/','The Fox Den',1,4,3,'2026-03-09',NULL,1773316800000000,'http://fox.example/capabilitylist.xml','http://fox.example/about.xml','{"title":"The Fox Den","description":null,"authors":[],"rights":null,"language":null}','[{"url":"http://fox.example/changelist.xml","from":"2026-01-01","read_at":1773316800000000}]');
INSERT INTO "collections" VALUES(2,1,'http://fox.example/owls/','owls','tag:fox.example,2026-03-10:sitebell:2216e056e3a8477a:collection:2','http://fox.example/owls/','The Fox Den',1,2,2,'2026-03-03',NULL,1773316800000000,'http://fox.example/owls.xml','http://fox.example/about.xml','{"title":"The Fox Den","description":null,"authors":[],"rights":null,"language":null}','[{"url":"http://fox.example/owls/changelist.xml","from":"2026-01-01","read_at":1773316800000000}]');
CREATE TABLE documents (
    site           INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    url            TEXT    NOT NULL,
    read_at        INTEGER NOT NULL,
    validators_url TEXT,
    etag           BLOB,
    last_modified  BLOB,
    problems       TEXT,                       -- JSON
    outline        TEXT    NOT NULL,
    PRIMARY KEY (site, url)
) STRICT, WITHOUT ROWID;
CREATE TABLE entries (
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    first_n    INTEGER NOT NULL,
    last_n     INTEGER NOT NULL,
    id         TEXT    NOT NULL,               -- of the Atom entry
    updated_at INTEGER NOT NULL,               -- another one for each entry of a site
    found_at   INTEGER NOT NULL,
    place      INTEGER NOT NULL,               -- among all entries of the collection there ever were, from 0
    site_place INTEGER NOT NULL,               -- the same for the site
    PRIMARY KEY (collection, first_n)
) STRICT, WITHOUT ROWID;
INSERT INTO "entries" VALUES(1,1,1,'tag:fox.example,2026-03-10:sitebell:2216e056e3a8477a:entry:1-1',1772323200104730,1773144000000000,0,0);
INSERT INTO "entries" VALUES(1,2,2,'tag:fox.example,2026-03-10:sitebell:2216e056e3a8477a:entry:1-2',1772438400104731,1773144000000000,1,1);
INSERT INTO "entries" VALUES(1,5,6,'tag:fox.example,2026-03-12:sitebell:2216e056e3a8477a:entry:1-5',1773316800104734,1773316800000000,2,4);
INSERT INTO "entries" VALUES(2,3,3,'tag:fox.example,2026-03-10:sitebell:2216e056e3a8477a:entry:2-3',1772323200104732,1773144000000000,0,2);
INSERT INTO "entries" VALUES(2,4,4,'tag:fox.example,2026-03-10:sitebell:2216e056e3a8477a:entry:2-4',1772496000104733,1773144000000000,1,3);
CREATE TABLE feed_keys (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account    INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
    hash       BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO "feed_keys" VALUES(1,2,X'89E467AC96466DC018F020AA22E4AD4E5D9D5E3658B5367BB5B6CC3EF389034C',1773316800000000);
CREATE TABLE instance (
    id   INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    name TEXT    NOT NULL
) STRICT;
INSERT INTO "instance" VALUES(1,'2216e056e3a8477a');
CREATE TABLE removed_sites (
    slug       TEXT    NOT NULL PRIMARY KEY,
    removed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE sites (
    id            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    url           TEXT    NOT NULL UNIQUE,
    scheme_given  INTEGER NOT NULL,            -- 0 if https is only a guess, and http will do
    slug          TEXT    NOT NULL UNIQUE,
    feed_id       TEXT    NOT NULL,
    host          TEXT    NOT NULL,            -- name and port: who is asked, and how often, is decided by host
    status        TEXT    NOT NULL,
    is_paused     INTEGER NOT NULL DEFAULT 0,
    interval_secs INTEGER NOT NULL,
    failures      INTEGER NOT NULL DEFAULT 0,
    added_at      INTEGER NOT NULL,
    last_check_at INTEGER,
    next_check_at INTEGER NOT NULL,
    quiet_until   INTEGER,                     -- until then its host wants no requests
    next_n        INTEGER NOT NULL DEFAULT 1,  -- the number of the next change that is found
    next_entry    INTEGER NOT NULL DEFAULT 0,  -- the place of the next entry
    root          TEXT,
    format        TEXT,
    title         TEXT,
    about         TEXT                         -- JSON
) STRICT;
INSERT INTO "sites" VALUES(1,'http://fox.example/',1,'fox.example','tag:fox.example,2026-03-10:sitebell:2216e056e3a8477a:site:1','fox.example','ok',1,43200,0,1773144000000000,1773316800000000,1773360432000000,NULL,7,5,'http://fox.example/.well-known/resourcesync','resourcesync','The Fox Den','{"title":"The Fox Den","description":null,"authors":[],"rights":null,"language":null}');
CREATE TABLE subscriptions (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account    INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
    site       INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    collection INTEGER REFERENCES collections ON DELETE CASCADE,
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO "subscriptions" VALUES(1,2,1,NULL,1773316800000000);
CREATE TABLE tokens (
    id         INTEGER NOT NULL PRIMARY KEY,
    account    INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
    hash       BLOB    NOT NULL UNIQUE,
    scope      TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sites_due ON sites (next_check_at, url, host) WHERE is_paused = 0;
CREATE INDEX checks_of_site ON checks (site);
CREATE INDEX tokens_of_account ON tokens (account);
CREATE UNIQUE INDEX subscriptions_once ON subscriptions (account, site, ifnull(collection, 0));
CREATE INDEX subscriptions_to_site ON subscriptions (site);
CREATE INDEX subscriptions_to_collection ON subscriptions (collection);
CREATE INDEX feed_keys_of_account ON feed_keys (account);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('accounts',2);
INSERT INTO "sqlite_sequence" VALUES('sites',1);
INSERT INTO "sqlite_sequence" VALUES('checks',2);
INSERT INTO "sqlite_sequence" VALUES('collections',2);
INSERT INTO "sqlite_sequence" VALUES('subscriptions',1);
INSERT INTO "sqlite_sequence" VALUES('feed_keys',1);
COMMIT;
