-- Hosts that asked to be left alone, whether a site is at them or only leads there.
CREATE TABLE quiet_hosts (
    host  TEXT PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO quiet_hosts (host, until)
SELECT host, max(quiet_until) FROM sites WHERE quiet_until IS NOT NULL GROUP BY host;

ALTER TABLE sites DROP COLUMN quiet_until;
