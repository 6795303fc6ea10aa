-- Whether the feed of the whole site has an entry, and not only that of its collection. Where collections share pages, a
-- change is told for the site once; what the others say of it is an entry that keeps no place among those of the site. (It
-- is written with the place that the next one gets.)
ALTER TABLE entries ADD COLUMN is_for_site INTEGER NOT NULL DEFAULT 1;
