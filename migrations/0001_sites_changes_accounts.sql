-- Everything that Sitebell keeps. Instants are microseconds since 1970, in UTC.

-- The name of this database: random, made once, part of every id that is minted in it.
CREATE TABLE instance (
    id   INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    name TEXT    NOT NULL
) STRICT;
INSERT INTO instance (id, name) VALUES (1, lower(hex(randomblob(8))));

-- AUTOINCREMENT, because the numbers are part of ids that must never be given to another site.
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
-- With the address, so that asking what is due reads nothing else: the sites themselves are all over the file.
CREATE INDEX sites_due ON sites (next_check_at, url, host) WHERE is_paused = 0;

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

-- The one large table, and therefore without a second index. The numbers of a site's changes rise in the order in which
-- they were found, across its collections; what is known of a collection is found by walking through it.
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

-- An entry is a range of changes. Changes outside all ranges were passed over in silence.
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
CREATE INDEX checks_of_site ON checks (site);

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

CREATE TABLE accounts (
    id            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL,
    name_key      TEXT    NOT NULL UNIQUE,     -- the name in lower case
    password_hash TEXT    NOT NULL,
    recovery_hash TEXT    NOT NULL,
    is_admin      INTEGER NOT NULL,
    is_disabled   INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
    id         INTEGER NOT NULL PRIMARY KEY,
    account    INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
    hash       BLOB    NOT NULL UNIQUE,
    scope      TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX tokens_of_account ON tokens (account);

CREATE TABLE subscriptions (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account    INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
    site       INTEGER NOT NULL REFERENCES sites ON DELETE CASCADE,
    collection INTEGER REFERENCES collections ON DELETE CASCADE,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX subscriptions_once ON subscriptions (account, site, ifnull(collection, 0));
CREATE INDEX subscriptions_to_site ON subscriptions (site);
CREATE INDEX subscriptions_to_collection ON subscriptions (collection);
