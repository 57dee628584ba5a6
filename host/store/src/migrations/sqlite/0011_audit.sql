-- Every change by a person, a key or a file. Rows are added and, once they are old, deleted.
CREATE TABLE audit (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    -- The id of what was changed.
    target     TEXT    NOT NULL,
    -- Empty if the change belongs to no tenant.
    tenant     TEXT    NOT NULL,
    -- Empty if the change was not made by a request.
    request_id TEXT    NOT NULL,
    detail     TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_of_time ON audit (at, number);
CREATE INDEX audit_of_actor ON audit (actor, at, number);
CREATE INDEX audit_of_action ON audit (action, at, number);
CREATE INDEX audit_of_tenant ON audit (tenant, at, number);
CREATE INDEX audit_of_target ON audit (target, at, number);

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'entries of the audit are not changed');
END;
-- The shortest time for which entries are kept is a day.
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit WHEN OLD.at > (unixepoch() - 86400) * 1000 BEGIN
    SELECT RAISE(ABORT, 'entries of the audit are kept for a day at least');
END;
