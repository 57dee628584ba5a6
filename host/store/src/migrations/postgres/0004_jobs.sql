-- The migrations for SQLite have the same tables and explain them.

CREATE TABLE jobs (
    -- The order of ids is that of their bytes, whatever the locale of the database is.
    id              TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    tenant          TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    connector       TEXT    NOT NULL,
    operation       TEXT    NOT NULL,
    user_identifier TEXT,
    changes_data    BOOLEAN NOT NULL,
    status          TEXT    NOT NULL,
    due_at          BIGINT  NOT NULL,
    attempts        BIGINT  NOT NULL DEFAULT 0,
    fence           BIGINT  NOT NULL DEFAULT 0,
    leased_until    BIGINT,
    created_at      BIGINT  NOT NULL,
    started_at      BIGINT,
    finished_at     BIGINT,
    expires_at      BIGINT,
    CHECK ((leased_until IS NULL) = (status <> 'running')),
    CHECK ((expires_at IS NULL) = (status IN ('pending', 'running')))
);
CREATE INDEX jobs_holder ON jobs (tenant, subject, id);
CREATE INDEX jobs_pending ON jobs (tenant, id) WHERE status = 'pending';
CREATE INDEX jobs_running ON jobs (leased_until) WHERE status = 'running';
CREATE INDEX jobs_ended ON jobs (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE job_values (
    id       TEXT  NOT NULL PRIMARY KEY,
    job      TEXT  COLLATE "C" NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    data_key TEXT  NOT NULL REFERENCES data_keys (id),
    bytes    BYTEA NOT NULL
);
CREATE INDEX job_values_job ON job_values (job);
CREATE INDEX job_values_sealed ON job_values (data_key, id);

CREATE TABLE job_turns (
    tenant TEXT   NOT NULL PRIMARY KEY,
    turn   BIGINT NOT NULL
);
CREATE INDEX job_turns_order ON job_turns (turn);
