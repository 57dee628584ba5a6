-- The migrations for SQLite have the same tables and explain them.

CREATE TABLE idempotency_keys (
    id           TEXT   NOT NULL PRIMARY KEY,
    tenant       TEXT   NOT NULL,
    fingerprint  BYTEA  NOT NULL CHECK (length(fingerprint) = 32),
    leased_until BIGINT,
    data_key     TEXT   REFERENCES data_keys (id),
    answer       BYTEA,
    expires_at   BIGINT NOT NULL,
    CHECK ((data_key IS NULL) = (answer IS NULL)),
    CHECK (leased_until IS NULL OR answer IS NULL)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
CREATE INDEX idempotency_keys_sealed ON idempotency_keys (data_key, id);
