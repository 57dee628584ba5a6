-- Operations that run in the background.
CREATE TABLE jobs (
    -- Ids grow with the time of creation.
    id              TEXT    NOT NULL PRIMARY KEY,
    tenant          TEXT    NOT NULL,
    -- The user. Empty if the job belongs to the tenant itself.
    subject         TEXT    NOT NULL,
    connector       TEXT    NOT NULL,
    operation       TEXT    NOT NULL,
    -- The integration that the job runs on. NULL if the connector needs none.
    user_identifier TEXT,
    -- 1 if the job must not run a second time after it was cut off.
    changes_data    INTEGER NOT NULL,
    -- 'pending', 'running', 'succeeded' or 'failed'.
    status          TEXT    NOT NULL,
    -- A pending job is not taken before this time.
    due_at          INTEGER NOT NULL,
    -- How often the job was taken.
    attempts        INTEGER NOT NULL DEFAULT 0,
    -- The lease of a running job: the worker with the highest fence has it until leased_until.
    fence           INTEGER NOT NULL DEFAULT 0,
    leased_until    INTEGER,
    created_at      INTEGER NOT NULL,
    started_at      INTEGER,
    finished_at     INTEGER,
    -- A job that has ended is deleted from this time on.
    expires_at      INTEGER,
    CHECK ((leased_until IS NULL) = (status <> 'running')),
    CHECK ((expires_at IS NULL) = (status IN ('pending', 'running')))
) STRICT;
CREATE INDEX jobs_holder ON jobs (tenant, subject, id);
CREATE INDEX jobs_pending ON jobs (tenant, id) WHERE status = 'pending';
CREATE INDEX jobs_running ON jobs (leased_until) WHERE status = 'running';
CREATE INDEX jobs_ended ON jobs (expires_at) WHERE expires_at IS NOT NULL;

-- The sealed values of jobs. They are in a table of their own, so that a lease is renewed without writing a large result again.
CREATE TABLE job_values (
    -- The id of the job, a slash, and 'input', 'callbacks', 'progress', 'result' or 'error'.
    id       TEXT NOT NULL PRIMARY KEY,
    job      TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    data_key TEXT NOT NULL REFERENCES data_keys (id),
    bytes    BLOB NOT NULL
) STRICT;
CREATE INDEX job_values_job ON job_values (job);
CREATE INDEX job_values_sealed ON job_values (data_key, id);

-- The order in which tenants take turns. The tenant with the lowest number is next. Rows are never deleted: a job whose tenant had
-- no row would never be taken.
CREATE TABLE job_turns (
    tenant TEXT    NOT NULL PRIMARY KEY,
    turn   INTEGER NOT NULL
) STRICT;
CREATE INDEX job_turns_order ON job_turns (turn);
