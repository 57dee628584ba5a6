-- The history of connectors. It outlives the connectors.
CREATE TABLE connector_changes (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    connector  TEXT    NOT NULL,
    changed_at INTEGER NOT NULL,
    action     TEXT    NOT NULL,
    actor_kind TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    -- As the manifest of the module says it.
    version    TEXT    NOT NULL,
    -- SHA-256 of the module, in hexadecimal digits.
    digest     TEXT    NOT NULL,
    -- 1 if this module was the connector's after the change, 0 if the connector was removed.
    installed  INTEGER NOT NULL,
    detail     TEXT    NOT NULL
) STRICT;
CREATE INDEX connector_changes_of_one ON connector_changes (connector, number);
