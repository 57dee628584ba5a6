-- The migration for SQLite has the same tables and explains them.

CREATE TABLE usage_of_operations (
    day               BIGINT NOT NULL,
    tenant            TEXT   NOT NULL,
    connector         TEXT   NOT NULL,
    operation         TEXT   NOT NULL,
    part              BIGINT NOT NULL,
    calls             BIGINT NOT NULL,
    failed            BIGINT NOT NULL,
    upstream_requests BIGINT NOT NULL,
    bytes_in          BIGINT NOT NULL,
    bytes_out         BIGINT NOT NULL,
    jobs              BIGINT NOT NULL,
    events            BIGINT NOT NULL,
    PRIMARY KEY (day, tenant, connector, operation, part)
);
CREATE INDEX usage_of_operations_parts ON usage_of_operations (day) WHERE part <> 0;

CREATE TABLE usage_of_subjects (
    day               BIGINT NOT NULL,
    tenant            TEXT   NOT NULL,
    subject           TEXT   NOT NULL,
    part              BIGINT NOT NULL,
    calls             BIGINT NOT NULL,
    failed            BIGINT NOT NULL,
    upstream_requests BIGINT NOT NULL,
    bytes_in          BIGINT NOT NULL,
    bytes_out         BIGINT NOT NULL,
    jobs              BIGINT NOT NULL,
    events            BIGINT NOT NULL,
    PRIMARY KEY (day, tenant, subject, part)
);
CREATE INDEX usage_of_subjects_parts ON usage_of_subjects (day) WHERE part <> 0;

CREATE TABLE usage_batches (
    id       TEXT   NOT NULL PRIMARY KEY,
    added_at BIGINT NOT NULL
);
CREATE INDEX usage_batches_old ON usage_batches (added_at);

CREATE FUNCTION count_usage_of_events() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO usage_of_operations (day, tenant, connector, operation, part, calls, failed, upstream_requests, bytes_in, bytes_out, jobs, events)
        SELECT changed.received_at / 86400000, changed.tenant, triggers.connector, '', pg_backend_pid(), 0, 0, 0, 0, 0, 0, count(*)
        FROM changed JOIN triggers ON triggers.id = changed.trigger_id GROUP BY 1, 2, 3
        ON CONFLICT (day, tenant, connector, operation, part) DO UPDATE SET events = usage_of_operations.events + excluded.events;
    INSERT INTO usage_of_subjects (day, tenant, subject, part, calls, failed, upstream_requests, bytes_in, bytes_out, jobs, events)
        SELECT changed.received_at / 86400000, changed.tenant, triggers.subject, pg_backend_pid(), 0, 0, 0, 0, 0, 0, count(*)
        FROM changed JOIN triggers ON triggers.id = changed.trigger_id GROUP BY 1, 2, 3
        ON CONFLICT (day, tenant, subject, part) DO UPDATE SET events = usage_of_subjects.events + excluded.events;
    RETURN NULL;
END $$;
CREATE TRIGGER usage_of_events AFTER INSERT ON trigger_events REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_usage_of_events();
