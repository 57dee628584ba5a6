-- SQLite uses a partial index only for queries that repeat its condition as it is written here.
DROP INDEX integrations_selected;
CREATE UNIQUE INDEX integrations_selected ON integrations (tenant, subject, connector) WHERE selected;

-- 1 if the caller permits that another account replaces the one behind the user identifier.
ALTER TABLE authorizations ADD COLUMN replaces INTEGER NOT NULL DEFAULT 0;
-- 1 if the caller confirms the grant before it is used.
ALTER TABLE authorizations ADD COLUMN confirms INTEGER NOT NULL DEFAULT 0;

-- Grants that users gave and that the caller has not confirmed yet.
CREATE TABLE pending_grants (
    -- SHA-256 of the completion.
    hash            BLOB    NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    tenant          TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    connector       TEXT    NOT NULL,
    user_identifier TEXT    NOT NULL,
    -- The sealed grant.
    data_key        TEXT    NOT NULL REFERENCES data_keys (id),
    secret          BLOB    NOT NULL,
    -- From this time on the grant can no longer be confirmed and is revoked.
    expires_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX pending_grants_expiry ON pending_grants (expires_at);
CREATE INDEX pending_grants_sealed ON pending_grants (data_key, hash);
