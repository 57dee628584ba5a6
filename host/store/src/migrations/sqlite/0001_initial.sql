-- Times are milliseconds since 1970-01-01T00:00:00Z.

-- API keys of callers. The key itself is kept nowhere: it has 256 bits of randomness, so its SHA-256 gives nothing away
-- and needs neither salt nor a slow function.
CREATE TABLE api_keys (
    id            TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    tenant        TEXT    NOT NULL,
    -- Set when the key speaks for one user only.
    subject       TEXT,
    -- Names separated by blanks.
    scopes        TEXT    NOT NULL,
    hash          BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    -- Its first characters, so that people recognise it; empty for a key that people chose.
    prefix        TEXT    NOT NULL,
    -- 'command', 'first_start' or 'environment'.
    origin        TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    revoked_at    INTEGER,
    -- Whether a person revoked it, rather than a new value of the variable that set it.
    revoked_by_person INTEGER NOT NULL DEFAULT 0,
    last_used_at  INTEGER
) STRICT;

-- Counts the changes that gateways must take notice of. They ask for it once a second, which must stay cheap, and must not
-- be answered "changed" by whatever else is written to the database.
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

-- Hosts that the operator lets a connector reach.
CREATE TABLE grants (
    connector  TEXT    NOT NULL,
    host       TEXT    NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (connector, host)
) STRICT, WITHOUT ROWID;

-- What connectors keep. Values are up to 64 KiB, too large for a table without row ids.
CREATE TABLE connector_storage (
    connector   TEXT    NOT NULL,
    -- Empty where users have no integrations.
    integration TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    value       BLOB    NOT NULL,
    expires_at  INTEGER,
    PRIMARY KEY (connector, integration, key)
) STRICT;
CREATE INDEX connector_storage_expiry ON connector_storage (expires_at) WHERE expires_at IS NOT NULL;
