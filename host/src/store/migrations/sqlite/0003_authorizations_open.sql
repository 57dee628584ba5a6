-- Counted whenever a holder begins another one.
CREATE INDEX authorizations_open ON authorizations (tenant, subject, connector, expires_at) WHERE NOT is_used;
