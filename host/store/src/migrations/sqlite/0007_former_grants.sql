-- The grants of versions that another version has replaced. A rollback restores them.
CREATE TABLE former_grants (
    connector TEXT    NOT NULL,
    -- SHA-256 of the module, in hexadecimal digits.
    version   TEXT    NOT NULL,
    -- Separated by spaces.
    hosts     TEXT    NOT NULL,
    noted_at  INTEGER NOT NULL,
    PRIMARY KEY (connector, version)
) STRICT, WITHOUT ROWID;

INSERT INTO revisions (subject, number) VALUES ('grants', 0);

CREATE TRIGGER grants_added AFTER INSERT ON grants BEGIN
    UPDATE revisions SET number = number + 1 WHERE subject = 'grants';
END;
CREATE TRIGGER grants_removed AFTER DELETE ON grants BEGIN
    UPDATE revisions SET number = number + 1 WHERE subject = 'grants';
END;
