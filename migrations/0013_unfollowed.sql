-- When an account last ceased to follow something. Its own feed became another one then, and no entry tells of it.
ALTER TABLE accounts ADD COLUMN unfollowed_at INTEGER;
