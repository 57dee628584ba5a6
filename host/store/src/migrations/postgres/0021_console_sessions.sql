-- Sessions of operators at the console.
CREATE TABLE console_sessions (
    -- SHA-256 of the cookie.
    hash       BYTEA NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    -- The key that the operator signed in with.
    key_id     TEXT NOT NULL,
    -- The session ends then, even if it is used.
    expires_at BIGINT NOT NULL,
    -- The last use, at most a minute late.
    seen_at    BIGINT NOT NULL
);
CREATE INDEX console_sessions_expired ON console_sessions (expires_at);
