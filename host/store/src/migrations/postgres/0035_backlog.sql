-- True while events wait because too many webhooks of the tenant are not delivered.
ALTER TABLE triggers ADD COLUMN has_backlog BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX triggers_with_backlog ON triggers (tenant, id) WHERE has_backlog;
CREATE INDEX trigger_events_waiting ON trigger_events (trigger_id, sequence) WHERE NOT queued;
