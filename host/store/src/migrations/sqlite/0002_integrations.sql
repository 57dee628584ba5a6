-- Data keys, which secrets are sealed under.
CREATE TABLE data_keys (
    id         TEXT    NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    -- From this time on nothing new is sealed under the key. NULL for the current key.
    retired_at INTEGER
) STRICT;
-- At most one key is current, even if two gateways start at once.
CREATE UNIQUE INDEX data_keys_current ON data_keys ((1)) WHERE retired_at IS NULL;

-- Each data key, sealed under the master key. During a rotation it is sealed under two master keys.
CREATE TABLE data_key_wraps (
    data_key  TEXT NOT NULL REFERENCES data_keys (id) ON DELETE CASCADE,
    master_id TEXT NOT NULL,
    bytes     BLOB NOT NULL,
    PRIMARY KEY (data_key, master_id)
) STRICT;

-- Accounts of users at providers.
CREATE TABLE integrations (
    id                TEXT    NOT NULL PRIMARY KEY,
    tenant            TEXT    NOT NULL,
    -- The user. Empty if the integration belongs to the tenant itself.
    subject           TEXT    NOT NULL,
    connector         TEXT    NOT NULL,
    user_identifier   TEXT    NOT NULL,
    -- 'oauth2', 'api_key' or 'none'.
    auth_type         TEXT    NOT NULL,
    selected          INTEGER NOT NULL DEFAULT 0,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    version           INTEGER NOT NULL DEFAULT 1,
    -- 'active', 'expired' or 'revoked'.
    status            TEXT    NOT NULL,
    -- The reason for the last failure, as JSON.
    reason            TEXT,
    account_id        TEXT,
    account_email     TEXT,
    account_name      TEXT,
    -- A JSON list of strings.
    scopes            TEXT    NOT NULL,
    expires_at        INTEGER,
    last_refreshed_at INTEGER,
    next_refresh_at   INTEGER,
    -- The sealed tokens or API key. The reference keeps a data key from being deleted while a secret is sealed under it.
    data_key          TEXT    REFERENCES data_keys (id),
    secret            BLOB,
    -- The lease for a refresh: the worker with the highest fence has it until leased_until.
    fence             INTEGER NOT NULL DEFAULT 0,
    leased_until      INTEGER,
    UNIQUE (tenant, subject, connector, user_identifier),
    CHECK ((data_key IS NULL) = (secret IS NULL))
) STRICT;
CREATE UNIQUE INDEX integrations_selected ON integrations (tenant, subject, connector) WHERE selected = 1;
CREATE INDEX integrations_due ON integrations (next_refresh_at) WHERE status = 'active' AND auth_type = 'oauth2';
CREATE INDEX integrations_sealed ON integrations (data_key, id) WHERE data_key IS NOT NULL;

-- OAuth authorizations under way. Used and expired ones are kept for a day, so that a replay is recognised.
CREATE TABLE authorizations (
    -- SHA-256 of the state parameter.
    hash            BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    tenant          TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    connector       TEXT    NOT NULL,
    user_identifier TEXT,
    callback_url    TEXT    NOT NULL,
    redirect_uri    TEXT    NOT NULL,
    data_key        TEXT    REFERENCES data_keys (id),
    verifier        BLOB,
    expires_at      INTEGER NOT NULL,
    is_used         INTEGER NOT NULL DEFAULT 0,
    CHECK ((data_key IS NULL) = (verifier IS NULL))
) STRICT;
CREATE INDEX authorizations_expiry ON authorizations (expires_at);
CREATE INDEX authorizations_sealed ON authorizations (data_key, hash) WHERE data_key IS NOT NULL;
-- For counting a holder's open authorizations when it begins another one.
CREATE INDEX authorizations_open ON authorizations (tenant, subject, connector, expires_at) WHERE NOT is_used;
