-- The migrations for SQLite have the same tables and explain them.

CREATE TABLE data_keys (
    id         TEXT   NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    retired_at BIGINT
);
CREATE UNIQUE INDEX data_keys_current ON data_keys ((1)) WHERE retired_at IS NULL;

CREATE TABLE data_key_wraps (
    data_key  TEXT  NOT NULL REFERENCES data_keys (id) ON DELETE CASCADE,
    master_id TEXT  NOT NULL,
    bytes     BYTEA NOT NULL,
    PRIMARY KEY (data_key, master_id)
);

CREATE TABLE integrations (
    id                TEXT    NOT NULL PRIMARY KEY,
    tenant            TEXT    NOT NULL,
    subject           TEXT    NOT NULL,
    connector         TEXT    NOT NULL,
    user_identifier   TEXT    NOT NULL,
    auth_type         TEXT    NOT NULL,
    selected          BOOLEAN NOT NULL DEFAULT FALSE,
    created_at        BIGINT  NOT NULL,
    updated_at        BIGINT  NOT NULL,
    version           BIGINT  NOT NULL DEFAULT 1,
    status            TEXT    NOT NULL,
    reason            TEXT,
    account_id        TEXT,
    account_email     TEXT,
    account_name      TEXT,
    scopes            TEXT    NOT NULL,
    expires_at        BIGINT,
    last_refreshed_at BIGINT,
    next_refresh_at   BIGINT,
    data_key          TEXT    REFERENCES data_keys (id),
    secret            BYTEA,
    fence             BIGINT  NOT NULL DEFAULT 0,
    leased_until      BIGINT,
    UNIQUE (tenant, subject, connector, user_identifier),
    CHECK ((data_key IS NULL) = (secret IS NULL))
);
CREATE UNIQUE INDEX integrations_selected ON integrations (tenant, subject, connector) WHERE selected;
CREATE INDEX integrations_due ON integrations (next_refresh_at) WHERE status = 'active' AND auth_type = 'oauth2';
CREATE INDEX integrations_sealed ON integrations (data_key, id) WHERE data_key IS NOT NULL;

CREATE TABLE authorizations (
    hash            BYTEA   NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    tenant          TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    connector       TEXT    NOT NULL,
    user_identifier TEXT,
    callback_url    TEXT    NOT NULL,
    redirect_uri    TEXT    NOT NULL,
    data_key        TEXT    REFERENCES data_keys (id),
    verifier        BYTEA,
    expires_at      BIGINT  NOT NULL,
    is_used         BOOLEAN NOT NULL DEFAULT FALSE,
    CHECK ((data_key IS NULL) = (verifier IS NULL))
);
CREATE INDEX authorizations_expiry ON authorizations (expires_at);
CREATE INDEX authorizations_sealed ON authorizations (data_key, hash) WHERE data_key IS NOT NULL;
CREATE INDEX authorizations_open ON authorizations (tenant, subject, connector, expires_at) WHERE NOT is_used;
