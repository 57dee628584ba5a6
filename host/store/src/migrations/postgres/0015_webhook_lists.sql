-- Deliveries keep their URL and body for some time after their end, so that they can be sent once more.
ALTER TABLE webhook_deliveries
    DROP CONSTRAINT webhook_deliveries_check1,
    ADD CHECK (payload_id IS NOT NULL OR status <> 'pending'),
    -- URL and body of a delivery that has ended are deleted at this time.
    ADD COLUMN body_until BIGINT,
    -- True if an operator has requested the next attempt of a delivery that had ended. No other attempt follows it.
    ADD COLUMN resent BOOLEAN NOT NULL DEFAULT FALSE,
    -- The SHA-256 of the URL, for the filter of lists. NULL for deliveries from before this migration.
    ADD COLUMN url_hash TEXT;
CREATE INDEX webhook_deliveries_kept ON webhook_deliveries (body_until) WHERE status <> 'pending' AND payload_id IS NOT NULL;
CREATE INDEX webhook_deliveries_of_time ON webhook_deliveries (created_at, webhook_id);
CREATE INDEX webhook_deliveries_of_tenant ON webhook_deliveries (tenant, created_at, webhook_id);
CREATE INDEX webhook_deliveries_of_status ON webhook_deliveries (status, created_at, webhook_id);
CREATE INDEX webhook_deliveries_of_receiver ON webhook_deliveries (receiver, created_at, webhook_id);
CREATE INDEX webhook_deliveries_of_url ON webhook_deliveries (url_hash, created_at, webhook_id);
