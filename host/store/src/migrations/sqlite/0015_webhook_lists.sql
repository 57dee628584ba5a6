-- Deliveries keep their URL and body for some time after their end, so that they can be sent once more. SQLite changes a CHECK only with a
-- new table.
CREATE TABLE webhook_deliveries_new (
    webhook_id      TEXT    NOT NULL PRIMARY KEY,
    tenant          TEXT    NOT NULL,
    -- 'job' or 'event'.
    kind            TEXT    NOT NULL,
    job_id          TEXT,
    -- The origin of the URL. Of the deliveries to one receiver, only a few are attempted at the same time.
    receiver        TEXT    NOT NULL,
    -- The sealed URL, which may contain a secret. NULL once the delivery cannot be sent any more.
    data_key        TEXT    REFERENCES data_keys (id),
    url             BLOB,
    payload_id      TEXT    REFERENCES webhook_payloads (id),
    -- Size of the body.
    size            INTEGER NOT NULL,
    -- 'pending', 'delivered' or 'failed'.
    status          TEXT    NOT NULL,
    -- A JSON list.
    attempts        TEXT    NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    -- The lease for an attempt: the worker with the highest fence has it until leased_until.
    fence           INTEGER NOT NULL DEFAULT 0,
    leased_until    INTEGER,
    created_at      INTEGER NOT NULL,
    -- The row may be deleted from this time on, unless it is pending.
    expires_at      INTEGER NOT NULL,
    -- URL and body of a delivery that has ended are deleted at this time.
    body_until      INTEGER,
    -- 1 if an operator has requested the next attempt of a delivery that had ended. No other attempt follows it.
    resent          INTEGER NOT NULL DEFAULT 0,
    -- The SHA-256 of the URL, for the filter of lists. NULL for deliveries from before this migration.
    url_hash        TEXT,
    CHECK ((data_key IS NULL) = (url IS NULL)),
    CHECK ((payload_id IS NULL) = (url IS NULL)),
    CHECK (payload_id IS NOT NULL OR status <> 'pending'),
    CHECK ((job_id IS NULL) = (kind <> 'job'))
) STRICT;
INSERT INTO webhook_deliveries_new (webhook_id, tenant, kind, job_id, receiver, data_key, url, payload_id, size, status, attempts,
    next_attempt_at, fence, leased_until, created_at, expires_at)
    SELECT webhook_id, tenant, kind, job_id, receiver, data_key, url, payload_id, size, status, attempts, next_attempt_at, fence,
        leased_until, created_at, expires_at
    FROM webhook_deliveries;
DROP TABLE webhook_deliveries;
ALTER TABLE webhook_deliveries_new RENAME TO webhook_deliveries;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (expires_at) WHERE status <> 'pending';
CREATE INDEX webhook_deliveries_kept ON webhook_deliveries (body_until) WHERE status <> 'pending' AND payload_id IS NOT NULL;
CREATE INDEX webhook_deliveries_job ON webhook_deliveries (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX webhook_deliveries_payload ON webhook_deliveries (payload_id) WHERE payload_id IS NOT NULL;
CREATE INDEX webhook_deliveries_sealed ON webhook_deliveries (data_key, webhook_id) WHERE data_key IS NOT NULL;
CREATE INDEX webhook_deliveries_of_time ON webhook_deliveries (created_at, webhook_id);
CREATE INDEX webhook_deliveries_of_tenant ON webhook_deliveries (tenant, created_at, webhook_id);
CREATE INDEX webhook_deliveries_of_status ON webhook_deliveries (status, created_at, webhook_id);
CREATE INDEX webhook_deliveries_of_receiver ON webhook_deliveries (receiver, created_at, webhook_id);
CREATE INDEX webhook_deliveries_of_url ON webhook_deliveries (url_hash, created_at, webhook_id);
