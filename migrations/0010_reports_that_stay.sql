-- Reports for authors stay until somebody removes them, so it is known who kept them and of which site they are.
CREATE TABLE kept_reports (
    id      INTEGER PRIMARY KEY,
    name    TEXT    NOT NULL UNIQUE,           -- a part of its address, which nobody guesses
    made_at INTEGER NOT NULL,
    site    TEXT    NOT NULL,                  -- the address of the site
    kept_by INTEGER REFERENCES accounts ON DELETE SET NULL, -- none where a visitor did
    print   BLOB,                              -- the same for reports that say the same; none for the first ones
    content BLOB    NOT NULL                   -- JSON, plain or as gzip
) STRICT;
INSERT INTO kept_reports (name, made_at, site, content)
    SELECT name, made_at, coalesce(json_extract(content, '$.url'), ''), CAST(content AS BLOB)
    FROM reports WHERE json_valid(content) ORDER BY made_at;
DROP TABLE reports;
CREATE INDEX kept_reports_print ON kept_reports (print);
CREATE INDEX kept_reports_kept_by ON kept_reports (kept_by, site);
