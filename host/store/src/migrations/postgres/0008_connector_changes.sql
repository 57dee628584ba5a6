CREATE TABLE connector_changes (
    number     BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    connector  TEXT    NOT NULL,
    changed_at BIGINT  NOT NULL,
    action     TEXT    NOT NULL,
    actor_kind TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    digest     TEXT    NOT NULL,
    installed  BOOLEAN NOT NULL,
    detail     TEXT    NOT NULL
);
CREATE INDEX connector_changes_of_one ON connector_changes (connector, number);
