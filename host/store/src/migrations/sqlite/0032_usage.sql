-- Usage: what each tenant has called on each day. Rows only grow, and several gateways add to the same ones.
CREATE TABLE usage_of_operations (
    -- Days since 1970-01-01, in UTC.
    day               INTEGER NOT NULL,
    tenant            TEXT    NOT NULL,
    -- Empty for calls of a connector or operation that does not exist.
    connector         TEXT    NOT NULL,
    -- Empty for events, too.
    operation         TEXT    NOT NULL,
    -- 0 for what gateways have counted. On PostgreSQL, events count in the part of the session that has stored them, so that two
    -- transactions of a tenant never wait for each other. The gateway adds these parts up in part 0.
    part              INTEGER NOT NULL,
    calls             INTEGER NOT NULL,
    failed            INTEGER NOT NULL,
    upstream_requests INTEGER NOT NULL,
    bytes_in          INTEGER NOT NULL,
    bytes_out         INTEGER NOT NULL,
    jobs              INTEGER NOT NULL,
    events            INTEGER NOT NULL,
    PRIMARY KEY (day, tenant, connector, operation, part)
) STRICT, WITHOUT ROWID;

-- The same counts by the user. The subject is empty for the tenant itself.
CREATE TABLE usage_of_subjects (
    day               INTEGER NOT NULL,
    tenant            TEXT    NOT NULL,
    subject           TEXT    NOT NULL,
    part              INTEGER NOT NULL,
    calls             INTEGER NOT NULL,
    failed            INTEGER NOT NULL,
    upstream_requests INTEGER NOT NULL,
    bytes_in          INTEGER NOT NULL,
    bytes_out         INTEGER NOT NULL,
    jobs              INTEGER NOT NULL,
    events            INTEGER NOT NULL,
    PRIMARY KEY (day, tenant, subject, part)
) STRICT, WITHOUT ROWID;

-- The last batches that gateways have added. A gateway that does not know if a batch was added sends it again, and it counts once.
CREATE TABLE usage_batches (
    id       TEXT    NOT NULL PRIMARY KEY,
    added_at INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_batches_old ON usage_batches (added_at);

CREATE TRIGGER usage_of_events AFTER INSERT ON trigger_events BEGIN
    INSERT INTO usage_of_operations (day, tenant, connector, operation, part, calls, failed, upstream_requests, bytes_in, bytes_out, jobs, events)
        SELECT NEW.received_at / 86400000, NEW.tenant, connector, '', 0, 0, 0, 0, 0, 0, 0, 1 FROM triggers WHERE id = NEW.trigger_id
        ON CONFLICT (day, tenant, connector, operation, part) DO UPDATE SET events = events + excluded.events;
    INSERT INTO usage_of_subjects (day, tenant, subject, part, calls, failed, upstream_requests, bytes_in, bytes_out, jobs, events)
        SELECT NEW.received_at / 86400000, NEW.tenant, subject, 0, 0, 0, 0, 0, 0, 0, 1 FROM triggers WHERE id = NEW.trigger_id
        ON CONFLICT (day, tenant, subject, part) DO UPDATE SET events = events + excluded.events;
END;
