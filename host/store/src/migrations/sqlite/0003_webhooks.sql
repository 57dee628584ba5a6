-- Secrets that webhooks of a tenant are signed with. A tenant has at most two: the current one and the one before.
CREATE TABLE webhook_secrets (
    id         TEXT    NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- NULL for the current secret. A former one ends at this time.
    expires_at INTEGER,
    data_key   TEXT    NOT NULL REFERENCES data_keys (id),
    secret     BLOB    NOT NULL
) STRICT;
CREATE INDEX webhook_secrets_tenant ON webhook_secrets (tenant);
CREATE INDEX webhook_secrets_sealed ON webhook_secrets (data_key, id);

-- The bodies of webhooks. The deliveries of one job share a body. It is deleted with the end of the last of them.
CREATE TABLE webhook_payloads (
    id       TEXT NOT NULL PRIMARY KEY,
    tenant   TEXT NOT NULL,
    data_key TEXT NOT NULL REFERENCES data_keys (id),
    payload  BLOB NOT NULL
) STRICT;
CREATE INDEX webhook_payloads_sealed ON webhook_payloads (data_key, id);

-- Webhooks, each to one URL.
CREATE TABLE webhook_deliveries (
    webhook_id      TEXT    NOT NULL PRIMARY KEY,
    tenant          TEXT    NOT NULL,
    -- 'job' or 'event'.
    kind            TEXT    NOT NULL,
    job_id          TEXT,
    -- The origin of the URL. Of the deliveries to one receiver, only a few are attempted at the same time.
    receiver        TEXT    NOT NULL,
    -- The sealed URL, which may contain a secret. NULL once no attempt is left.
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
    CHECK ((data_key IS NULL) = (url IS NULL)),
    CHECK ((payload_id IS NULL) = (status <> 'pending')),
    CHECK ((job_id IS NULL) = (kind <> 'job'))
) STRICT;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (expires_at) WHERE status <> 'pending';
CREATE INDEX webhook_deliveries_job ON webhook_deliveries (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX webhook_deliveries_payload ON webhook_deliveries (payload_id) WHERE payload_id IS NOT NULL;
CREATE INDEX webhook_deliveries_sealed ON webhook_deliveries (data_key, webhook_id) WHERE data_key IS NOT NULL;

-- For finding tokens that have expired and cannot be refreshed, to tell the operator of it.
CREATE INDEX integrations_ended ON integrations (expires_at)
    WHERE status = 'active' AND auth_type = 'oauth2' AND next_refresh_at IS NULL;
