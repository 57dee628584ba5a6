-- The migrations for SQLite have the same tables and explain them.

-- Milliseconds since 1970-01-01T00:00:00Z, by the clock of the server. The clocks of the gateways may differ.
CREATE FUNCTION now_ms() RETURNS BIGINT LANGUAGE sql STABLE AS
    $$ SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint $$;

CREATE TABLE api_keys (
    id            TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    tenant        TEXT    NOT NULL,
    subject       TEXT,
    scopes        TEXT    NOT NULL,
    hash          BYTEA   NOT NULL UNIQUE CHECK (length(hash) = 32),
    prefix        TEXT    NOT NULL,
    origin        TEXT    NOT NULL,
    created_at    BIGINT  NOT NULL,
    revoked_at    BIGINT,
    revoked_by_person BOOLEAN NOT NULL DEFAULT FALSE,
    last_used_at  BIGINT
);

CREATE TABLE revisions (
    subject TEXT   NOT NULL PRIMARY KEY,
    number  BIGINT NOT NULL
);
INSERT INTO revisions (subject, number) VALUES ('api_keys', 0);

CREATE FUNCTION count_api_keys_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE revisions SET number = number + 1 WHERE subject = 'api_keys';
    RETURN NULL;
END $$;
CREATE TRIGGER api_keys_added_or_removed AFTER INSERT OR DELETE ON api_keys
    FOR EACH ROW EXECUTE FUNCTION count_api_keys_change();
CREATE TRIGGER api_keys_changed AFTER UPDATE OF name, tenant, subject, scopes, hash, revoked_at ON api_keys
    FOR EACH ROW EXECUTE FUNCTION count_api_keys_change();

CREATE TABLE grants (
    connector  TEXT   NOT NULL,
    host       TEXT   NOT NULL,
    granted_at BIGINT NOT NULL,
    PRIMARY KEY (connector, host)
);

CREATE TABLE connector_storage (
    connector   TEXT  NOT NULL,
    integration TEXT  NOT NULL,
    -- Bytes, because a key is text that may contain zero bytes, and TEXT cannot hold them.
    key         BYTEA NOT NULL,
    value       BYTEA NOT NULL,
    expires_at  BIGINT,
    PRIMARY KEY (connector, integration, key)
);
CREATE INDEX connector_storage_expiry ON connector_storage (expires_at) WHERE expires_at IS NOT NULL;
