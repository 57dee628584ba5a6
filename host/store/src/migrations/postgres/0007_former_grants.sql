CREATE TABLE former_grants (
    connector TEXT   NOT NULL,
    version   TEXT   NOT NULL,
    hosts     TEXT   NOT NULL,
    noted_at  BIGINT NOT NULL,
    PRIMARY KEY (connector, version)
);

INSERT INTO revisions (subject, number) VALUES ('grants', 0);

CREATE FUNCTION count_grants_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE revisions SET number = number + 1 WHERE subject = 'grants';
    RETURN NULL;
END $$;
CREATE TRIGGER grants_added_or_removed AFTER INSERT OR DELETE ON grants
    FOR EACH ROW EXECUTE FUNCTION count_grants_change();
