-- The migrations for SQLite have the same tables and explain them.

CREATE TABLE webhook_secrets (
    id         TEXT   NOT NULL PRIMARY KEY,
    tenant     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    data_key   TEXT   NOT NULL REFERENCES data_keys (id),
    secret     BYTEA  NOT NULL
);
CREATE INDEX webhook_secrets_tenant ON webhook_secrets (tenant);
CREATE INDEX webhook_secrets_sealed ON webhook_secrets (data_key, id);

CREATE TABLE webhook_payloads (
    id       TEXT  NOT NULL PRIMARY KEY,
    tenant   TEXT  NOT NULL,
    data_key TEXT  NOT NULL REFERENCES data_keys (id),
    payload  BYTEA NOT NULL
);
CREATE INDEX webhook_payloads_sealed ON webhook_payloads (data_key, id);

CREATE TABLE webhook_deliveries (
    webhook_id      TEXT   NOT NULL PRIMARY KEY,
    tenant          TEXT   NOT NULL,
    kind            TEXT   NOT NULL,
    job_id          TEXT,
    receiver        TEXT   NOT NULL,
    data_key        TEXT   REFERENCES data_keys (id),
    url             BYTEA,
    payload_id      TEXT   REFERENCES webhook_payloads (id),
    size            BIGINT NOT NULL,
    status          TEXT   NOT NULL,
    attempts        TEXT   NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    fence           BIGINT NOT NULL DEFAULT 0,
    leased_until    BIGINT,
    created_at      BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    CHECK ((data_key IS NULL) = (url IS NULL)),
    CHECK ((payload_id IS NULL) = (status <> 'pending')),
    CHECK ((job_id IS NULL) = (kind <> 'job'))
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (expires_at) WHERE status <> 'pending';
CREATE INDEX webhook_deliveries_job ON webhook_deliveries (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX webhook_deliveries_payload ON webhook_deliveries (payload_id) WHERE payload_id IS NOT NULL;
CREATE INDEX webhook_deliveries_sealed ON webhook_deliveries (data_key, webhook_id) WHERE data_key IS NOT NULL;

CREATE INDEX integrations_ended ON integrations (expires_at)
    WHERE status = 'active' AND auth_type = 'oauth2' AND next_refresh_at IS NULL;
