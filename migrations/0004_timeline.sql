-- What the timeline needs.

-- Where an account keeps a subscription; empty for nowhere in particular.
ALTER TABLE subscriptions ADD COLUMN folder TEXT NOT NULL DEFAULT '';
-- Where the visit before the present one ended.
ALTER TABLE accounts ADD COLUMN marked_at INTEGER;
