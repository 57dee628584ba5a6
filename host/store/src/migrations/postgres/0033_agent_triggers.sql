-- Events for agents (the Model Context Protocol).

-- The part of a trigger that an agent has made. The trigger ends at a time unless the agent renews it.
CREATE TABLE agent_triggers (
    trigger_id       TEXT    NOT NULL PRIMARY KEY REFERENCES triggers (id) ON DELETE CASCADE,
    -- Computed from the caller, the URL, the type and the arguments.
    id               TEXT    NOT NULL UNIQUE,
    expires_at       BIGINT  NOT NULL,
    -- TRUE if the receiver also gets messages about the trigger itself.
    takes_control    BOOLEAN NOT NULL,
    -- The sealed secrets of the receiver. NULL if the agent polls.
    data_key         TEXT    REFERENCES data_keys (id),
    secrets          BYTEA,
    last_delivery_at BIGINT,
    -- Why the last attempt failed. NULL if it succeeded.
    last_error       TEXT
);
CREATE INDEX agent_triggers_expired ON agent_triggers (expires_at);
CREATE INDEX agent_triggers_sealed ON agent_triggers (data_key, trigger_id) WHERE data_key IS NOT NULL;

-- Receivers that have answered the challenge of a caller.
CREATE TABLE verified_receivers (
    -- SHA-256 of the caller and the URL.
    hash       TEXT    NOT NULL PRIMARY KEY,
    tenant     TEXT    NOT NULL,
    expires_at BIGINT  NOT NULL
);
CREATE INDEX verified_receivers_expired ON verified_receivers (expires_at);

-- They count in what a tenant has stored.
CREATE FUNCTION count_verified_receivers() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM add_stored_bytes(OLD.tenant, -200);
    ELSE
        PERFORM add_stored_bytes(NEW.tenant, 200);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER verified_receivers_counted AFTER INSERT OR DELETE ON verified_receivers
    FOR EACH ROW EXECUTE FUNCTION count_verified_receivers();
