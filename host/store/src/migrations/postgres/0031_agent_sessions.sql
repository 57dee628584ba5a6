-- The migration for SQLite has the same tables and explains them.

CREATE TABLE agent_sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    hash       BYTEA   NOT NULL UNIQUE CHECK (length(hash) = 32),
    tenant     TEXT    NOT NULL,
    subject    TEXT,
    account    TEXT,
    tool_set   TEXT,
    scopes     TEXT    NOT NULL,
    allowed    TEXT,
    effects    TEXT,
    confirm    BOOLEAN NOT NULL,
    key_id     TEXT,
    created_at BIGINT  NOT NULL,
    expires_at BIGINT  NOT NULL,
    ended_at   BIGINT
);
CREATE INDEX agent_sessions_of_tenant ON agent_sessions (tenant, expires_at);
CREATE INDEX agent_sessions_expired ON agent_sessions (expires_at);
CREATE INDEX agent_sessions_of_key ON agent_sessions (key_id) WHERE key_id IS NOT NULL;

CREATE FUNCTION end_agent_sessions() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE agent_sessions SET ended_at = NEW.revoked_at WHERE key_id = NEW.id AND ended_at IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER agent_sessions_end_with_key AFTER UPDATE OF revoked_at ON api_keys
    FOR EACH ROW WHEN (NEW.revoked_at IS NOT NULL) EXECUTE FUNCTION end_agent_sessions();

CREATE FUNCTION count_agent_sessions() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(500 + coalesce(octet_length(allowed), 0))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER agent_sessions_stored AFTER INSERT ON agent_sessions REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_agent_sessions();
CREATE TRIGGER agent_sessions_freed AFTER DELETE ON agent_sessions REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_agent_sessions();
