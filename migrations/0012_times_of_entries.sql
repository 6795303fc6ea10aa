-- Nanoseconds on top of the time of an entry, another number for each site: whoever follows several sites sees their
-- entries side by side. Those that were told without keep their time as it is.
ALTER TABLE entries ADD COLUMN nanos INTEGER NOT NULL DEFAULT 0;
