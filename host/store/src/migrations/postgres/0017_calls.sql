-- Records of calls, for people who look for the reason of a failure.
CREATE TABLE calls (
    number      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id  TEXT   NOT NULL,
    -- Time at which the call arrived.
    at          BIGINT NOT NULL,
    -- The name of the gateway.
    gateway     TEXT   NOT NULL,
    tenant      TEXT   NOT NULL,
    -- Empty if the caller speaks for its tenant.
    subject     TEXT   NOT NULL,
    key_id      TEXT,
    connector   TEXT   NOT NULL,
    operation   TEXT   NOT NULL,
    version     TEXT,
    -- NULL if the caller did not wait for the answer.
    status      BIGINT,
    problem     TEXT,
    owner       TEXT,
    duration_us BIGINT NOT NULL,
    -- A JSON object.
    stages      TEXT   NOT NULL,
    -- A JSON list.
    upstream    TEXT   NOT NULL,
    idempotency TEXT,
    job_id      TEXT
);
CREATE INDEX calls_of_time ON calls (at, number);
CREATE INDEX calls_of_request ON calls (request_id);
CREATE INDEX calls_of_tenant ON calls (tenant, at, number);
CREATE INDEX calls_of_connector ON calls (connector, at, number);
CREATE INDEX calls_of_status ON calls (status, at, number);
-- Most calls have no problem, when all calls are kept.
CREATE INDEX calls_of_problem ON calls (problem, at, number) WHERE problem IS NOT NULL;
CREATE INDEX calls_of_tenant_and_problem ON calls (tenant, problem, at, number) WHERE problem IS NOT NULL;
CREATE INDEX calls_of_owner ON calls (owner, at, number) WHERE owner IS NOT NULL;

-- The name of the gateway that took a job last.
ALTER TABLE jobs ADD COLUMN gateway TEXT;
