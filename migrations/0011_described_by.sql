-- Where a site as a whole is described: its feed leads there, as that of a collection does.
ALTER TABLE sites ADD COLUMN described_by TEXT;
