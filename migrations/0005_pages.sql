-- Sites that list their pages instead of telling their changes.

-- When all formats were last looked for: one that is better than the one in use may have come.
ALTER TABLE sites ADD COLUMN looked_at INTEGER;

-- What is remembered of a list of pages as a whole, as JSON; null for a collection that tells its changes.
ALTER TABLE collections ADD COLUMN list TEXT;

-- What an entry says before its changes.
ALTER TABLE entries ADD COLUMN note TEXT;

-- The pages of such a collection as they were last read. There may be millions, so a page is found by a hash of its
-- address, and its time, its checksum and the document that lists it are numbers.
CREATE TABLE pages (
    collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    key        INTEGER NOT NULL,               -- a hash of the address
    stamp      INTEGER,                        -- seconds, milliseconds and form of lastmod
    twin       INTEGER NOT NULL,               -- a hash of what all spellings of the address share
    hash       INTEGER NOT NULL,               -- a hash of the checksum; 0 if there is none
    part       INTEGER NOT NULL,               -- a hash of the address of the document
    state      INTEGER NOT NULL,               -- whether it was missing, and whether it is there for a while only
    url        TEXT    NOT NULL,               -- without the head of the collection, if it begins with a space
    PRIMARY KEY (collection, key)
) STRICT, WITHOUT ROWID;
