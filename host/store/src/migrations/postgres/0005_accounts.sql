-- The migrations for SQLite have the same tables and explain them.

ALTER TABLE authorizations ADD COLUMN replaces BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE authorizations ADD COLUMN confirms BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE pending_grants (
    hash            BYTEA  NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    tenant          TEXT   NOT NULL,
    subject         TEXT   NOT NULL,
    connector       TEXT   NOT NULL,
    user_identifier TEXT   NOT NULL,
    data_key        TEXT   NOT NULL REFERENCES data_keys (id),
    secret          BYTEA  NOT NULL,
    expires_at      BIGINT NOT NULL
);
CREATE INDEX pending_grants_expiry ON pending_grants (expires_at);
CREATE INDEX pending_grants_sealed ON pending_grants (data_key, hash);
