-- Times are milliseconds since 1970-01-01T00:00:00Z.

-- API keys of callers. Only the SHA-256 of a key is stored. A key has 256 random bits, so that its SHA-256 reveals nothing
-- and needs neither a salt nor a slow function.
CREATE TABLE api_keys (
    id            TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    tenant        TEXT    NOT NULL,
    -- The one user that the key may act for. NULL if it may act for every user of the tenant.
    subject       TEXT,
    -- Names separated by spaces.
    scopes        TEXT    NOT NULL,
    hash          BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    -- The first characters of the key, so that people recognise it. Empty if a person chose the key.
    prefix        TEXT    NOT NULL,
    -- 'command', 'first_start' or 'environment'.
    origin        TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    revoked_at    INTEGER,
    -- 1 if a person revoked the key. 0 if a new value of GATEWAY_BOOTSTRAP_KEY replaced it.
    revoked_by_person INTEGER NOT NULL DEFAULT 0,
    last_used_at  INTEGER
) STRICT;

-- Counts the changes that gateways must notice. Each gateway reads the number once a second. The read is cheap, and writes to
-- other tables do not change the number.
CREATE TABLE revisions (
    subject TEXT    NOT NULL PRIMARY KEY,
    number  INTEGER NOT NULL
) STRICT;
INSERT INTO revisions (subject, number) VALUES ('api_keys', 0);

CREATE TRIGGER api_keys_added AFTER INSERT ON api_keys BEGIN
    UPDATE revisions SET number = number + 1 WHERE subject = 'api_keys';
END;
CREATE TRIGGER api_keys_changed AFTER UPDATE OF name, tenant, subject, scopes, hash, revoked_at ON api_keys BEGIN
    UPDATE revisions SET number = number + 1 WHERE subject = 'api_keys';
END;
CREATE TRIGGER api_keys_removed AFTER DELETE ON api_keys BEGIN
    UPDATE revisions SET number = number + 1 WHERE subject = 'api_keys';
END;

-- Hosts that the operator allows a connector to reach.
CREATE TABLE grants (
    connector  TEXT    NOT NULL,
    host       TEXT    NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (connector, host)
) STRICT, WITHOUT ROWID;

-- The key-value storage of connectors. Values have up to 64 KiB, which is too large for a table without row ids.
CREATE TABLE connector_storage (
    connector   TEXT    NOT NULL,
    -- Empty if the connector has no integrations.
    integration TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    value       BLOB    NOT NULL,
    expires_at  INTEGER,
    PRIMARY KEY (connector, integration, key)
) STRICT;
CREATE INDEX connector_storage_expiry ON connector_storage (expires_at) WHERE expires_at IS NOT NULL;
