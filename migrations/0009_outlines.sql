-- What is remembered of a document is written in another way now: those that were read before are read once more, whether
-- they have changed or not.
UPDATE documents SET validators_url = NULL, etag = NULL, last_modified = NULL WHERE outline LIKE '<%';
