-- Tool sets: the operations that agents get at one address, and how.
CREATE TABLE tool_sets (
    tenant     TEXT NOT NULL,
    name       TEXT NOT NULL,
    -- A JSON object. The store does not interpret it.
    definition TEXT NOT NULL,
    -- As the audit names actors.
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT;

-- Calls that a user has not confirmed yet.
CREATE TABLE confirmations (
    -- SHA-256 of the digest that the client was given, and of the call.
    hash       BLOB NOT NULL PRIMARY KEY,
    tenant     TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX confirmations_of_tenant ON confirmations (tenant, expires_at);
CREATE INDEX confirmations_expired ON confirmations (expires_at);

-- True if destructive operations ask first, for agents that use the key.
ALTER TABLE api_keys ADD COLUMN confirm INTEGER NOT NULL DEFAULT 0;
