-- What is due is read quarter hour by quarter hour, and within one in the order of the file: when many sites are due at
-- once (after a night without the service, say), neighbours are read and written together, and share pages.
DROP INDEX sites_due;
CREATE INDEX sites_due ON sites (next_check_at / 900000000, id, next_check_at, url, host) WHERE is_paused = 0;
