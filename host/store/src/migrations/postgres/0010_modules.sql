-- The modules of the service. The bytes are kept only in a database that gateways share: SQLite's gateway has them in its folders.
CREATE TABLE modules (
    -- SHA-256 of the module, in hexadecimal digits.
    digest TEXT PRIMARY KEY,
    bytes  BYTEA NOT NULL
);

-- Each module that a connector has had. A row outlives its bytes, so that an old file is recognised.
CREATE TABLE module_versions (
    connector  TEXT    NOT NULL,
    digest     TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    signature  TEXT,
    -- The last generation of the connector that had this module, and its time.
    generation BIGINT  NOT NULL,
    live_at    BIGINT  NOT NULL,
    PRIMARY KEY (connector, digest)
);

-- The present generation of each connector. The row outlives the connector, so that generations only grow.
CREATE TABLE live_modules (
    connector        TEXT    PRIMARY KEY,
    generation       BIGINT  NOT NULL,
    -- Null if the connector was removed.
    digest           TEXT,
    -- True if the operator let the module replace the shipped connector of the same identifier.
    replaces_shipped BOOLEAN NOT NULL,
    changed_at       BIGINT  NOT NULL,
    changed_by       TEXT    NOT NULL
);

INSERT INTO revisions (subject, number) VALUES ('modules', 0);

-- The gateways of the service, and the time of their last sign of life.
CREATE TABLE gateways (
    id           TEXT    PRIMARY KEY,
    name         TEXT    NOT NULL,
    address      TEXT    NOT NULL,
    version      TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    started_at   BIGINT  NOT NULL,
    seen_at      BIGINT  NOT NULL,
    calls        BIGINT  NOT NULL,
    jobs         BIGINT  NOT NULL,
    memory_held  BIGINT  NOT NULL,
    memory_limit BIGINT  NOT NULL
);

-- What each gateway serves of each connector, and what it made of the present generation.
CREATE TABLE gateway_connectors (
    gateway    TEXT    NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    connector  TEXT    NOT NULL,
    -- The module that serves there. Null if none does.
    version    TEXT,
    title      TEXT,
    digest     TEXT,
    generation BIGINT ,
    shipped BOOLEAN NOT NULL,
    -- The generation of the service that the state is about.
    about      BIGINT  NOT NULL,
    state      TEXT    NOT NULL,
    reason     TEXT,
    since      BIGINT  NOT NULL,
    PRIMARY KEY (gateway, connector)
);
CREATE INDEX gateway_connectors_of_one ON gateway_connectors (connector, gateway);
