-- 1 while events wait because too many webhooks of the tenant are not delivered.
ALTER TABLE triggers ADD COLUMN has_backlog INTEGER NOT NULL DEFAULT 0;
CREATE INDEX triggers_with_backlog ON triggers (tenant, id) WHERE has_backlog;
CREATE INDEX trigger_events_waiting ON trigger_events (trigger_id, sequence) WHERE NOT queued;
