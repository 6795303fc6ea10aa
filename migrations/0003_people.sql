-- What people need who sign in.

ALTER TABLE accounts ADD COLUMN time_zone TEXT NOT NULL DEFAULT 'UTC';
ALTER TABLE accounts ADD COLUMN visited_at INTEGER;          -- until when the timeline was seen
-- What it may do where that is not what everybody may.
ALTER TABLE accounts ADD COLUMN max_sites INTEGER;           -- followed
ALTER TABLE accounts ADD COLUMN max_lookups INTEGER;         -- a day
ALTER TABLE accounts ADD COLUMN max_imports INTEGER;         -- a day

CREATE TABLE sessions (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account    INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
    hash       BLOB    NOT NULL UNIQUE,
    agent      TEXT    NOT NULL,               -- the browser, in a few words
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_of_account ON sessions (account);

CREATE TABLE invites (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    hash       BLOB    NOT NULL UNIQUE,
    note       TEXT    NOT NULL,               -- for whom
    created_by INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_by    INTEGER REFERENCES accounts ON DELETE SET NULL,
    used_at    INTEGER
) STRICT;
CREATE INDEX invites_of_account ON invites (created_by);
CREATE INDEX invites_used_by ON invites (used_by);

ALTER TABLE tokens ADD COLUMN name TEXT NOT NULL DEFAULT ''; -- what it is for
