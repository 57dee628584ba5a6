-- Agent sessions: bearer tokens for one address of agents, made with an API key or a JWT. A session can do no more than its maker could
-- when it was made: its rights are fixed in the row.
CREATE TABLE agent_sessions (
    id         TEXT NOT NULL PRIMARY KEY,
    -- SHA-256 of the token.
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    tenant     TEXT NOT NULL,
    subject    TEXT,
    -- The account that every call uses. NULL if calls choose it.
    account    TEXT,
    -- The tool set whose address the token is for. NULL for the address of all tools.
    tool_set   TEXT,
    scopes     TEXT NOT NULL,
    -- As in api_keys.
    allowed    TEXT,
    effects    TEXT,
    confirm    INTEGER NOT NULL,
    -- The API key that made it. NULL for a JWT.
    key_id     TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    -- Time at which it was deleted, or its key was revoked. NULL for other ones.
    ended_at   INTEGER
) STRICT;
CREATE INDEX agent_sessions_of_tenant ON agent_sessions (tenant, expires_at);
CREATE INDEX agent_sessions_expired ON agent_sessions (expires_at);
CREATE INDEX agent_sessions_of_key ON agent_sessions (key_id) WHERE key_id IS NOT NULL;

-- Whatever revokes a key ends its sessions for good, also if the key is accepted again later.
CREATE TRIGGER agent_sessions_end_with_key AFTER UPDATE OF revoked_at ON api_keys WHEN NEW.revoked_at IS NOT NULL BEGIN
    UPDATE agent_sessions SET ended_at = NEW.revoked_at WHERE key_id = NEW.id AND ended_at IS NULL;
END;

-- Sessions count in what a tenant has stored.
CREATE TRIGGER agent_sessions_stored AFTER INSERT ON agent_sessions WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 500 + coalesce(length(CAST(NEW.allowed AS BLOB)), 0))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER agent_sessions_freed AFTER DELETE ON agent_sessions WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(500 + coalesce(length(CAST(OLD.allowed AS BLOB)), 0)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
