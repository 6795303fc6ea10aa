-- What a site is asked when nothing is expected to be new. Apart from the site, because that is written after every check,
-- and this is not. Its collections are covered up to when it was last asked all of that, and everything was as before:
-- one instant in a row that is written in any case, instead of one for each of them.
ALTER TABLE sites ADD COLUMN round_at INTEGER;
CREATE TABLE rounds (
    site      INTEGER NOT NULL PRIMARY KEY REFERENCES sites ON DELETE CASCADE,
    read_at   INTEGER NOT NULL,
    documents TEXT    NOT NULL,                -- JSON
    covered   TEXT    NOT NULL,                -- JSON: the numbers of collections
    problems  TEXT                             -- JSON
) STRICT;
