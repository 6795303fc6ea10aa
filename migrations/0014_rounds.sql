-- What a site is asked when nothing is expected to be new. Apart from the site, because that is written after every check,
-- and this is not.
CREATE TABLE rounds (
    site      INTEGER NOT NULL PRIMARY KEY REFERENCES sites ON DELETE CASCADE,
    read_at   INTEGER NOT NULL,
    documents TEXT    NOT NULL,                -- JSON
    covered   TEXT    NOT NULL,                -- JSON: the numbers of collections
    problems  TEXT                             -- JSON
) STRICT;
