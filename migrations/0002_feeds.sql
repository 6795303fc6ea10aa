-- What feeds need.

-- The names of sites that were removed, so that their addresses say so, and lead to no other site.
CREATE TABLE removed_sites (
    slug       TEXT    NOT NULL PRIMARY KEY,
    removed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The id of an account's own feed, made when it is first needed.
ALTER TABLE accounts ADD COLUMN feed_id TEXT;

-- The secrets in the addresses of private feeds.
CREATE TABLE feed_keys (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account    INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
    hash       BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX feed_keys_of_account ON feed_keys (account);
