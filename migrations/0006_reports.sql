-- Reports for authors that somebody wanted to keep.
CREATE TABLE reports (
    name    TEXT    PRIMARY KEY,               -- a part of its address, which nobody guesses
    made_at INTEGER NOT NULL,
    content TEXT    NOT NULL                   -- as JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX reports_made_at ON reports (made_at);
