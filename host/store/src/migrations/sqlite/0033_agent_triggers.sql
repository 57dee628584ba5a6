-- Events for agents (the Model Context Protocol).

-- The part of a trigger that an agent has made. The trigger ends at a time unless the agent renews it.
CREATE TABLE agent_triggers (
    trigger_id       TEXT    NOT NULL PRIMARY KEY REFERENCES triggers (id) ON DELETE CASCADE,
    -- Computed from the caller, the URL, the type and the arguments.
    id               TEXT    NOT NULL UNIQUE,
    expires_at       INTEGER NOT NULL,
    -- 1 if the receiver also gets messages about the trigger itself.
    takes_control    INTEGER NOT NULL,
    -- The sealed secrets of the receiver. NULL if the agent polls.
    data_key         TEXT    REFERENCES data_keys (id),
    secrets          BLOB,
    last_delivery_at INTEGER,
    -- Why the last attempt failed. NULL if it succeeded.
    last_error       TEXT
) STRICT;
CREATE INDEX agent_triggers_expired ON agent_triggers (expires_at);
CREATE INDEX agent_triggers_sealed ON agent_triggers (data_key, trigger_id) WHERE data_key IS NOT NULL;

-- Receivers that have answered the challenge of a caller.
CREATE TABLE verified_receivers (
    -- SHA-256 of the caller and the URL.
    hash       TEXT    NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX verified_receivers_expired ON verified_receivers (expires_at);

-- They count in what a tenant has stored.
CREATE TRIGGER verified_receivers_stored AFTER INSERT ON verified_receivers WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 200)
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER verified_receivers_freed AFTER DELETE ON verified_receivers WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -200)
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
