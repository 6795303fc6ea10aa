-- When words that feeds showed already became others: titles that came later, another name. No entry tells of it, so
-- the time of the newest entry cannot.
ALTER TABLE sites ADD COLUMN reworded_at INTEGER;
