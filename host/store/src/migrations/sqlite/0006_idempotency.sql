-- The first answers to calls with an idempotency key.
CREATE TABLE idempotency_keys (
    -- SHA-256 of tenant, subject and key, in hexadecimal digits. The key itself is not stored.
    id           TEXT    NOT NULL PRIMARY KEY,
    tenant       TEXT    NOT NULL,
    -- SHA-256 of the request.
    fingerprint  BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    -- Set while the call runs. If it has passed, the gateway that ran the call has died, and nobody knows what was done.
    leased_until INTEGER,
    -- The sealed answer. NULL while the call runs, and if the answer was too large to keep.
    data_key     TEXT    REFERENCES data_keys (id),
    answer       BLOB,
    expires_at   INTEGER NOT NULL,
    CHECK ((data_key IS NULL) = (answer IS NULL)),
    CHECK (leased_until IS NULL OR answer IS NULL)
) STRICT;
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
CREATE INDEX idempotency_keys_sealed ON idempotency_keys (data_key, id);
