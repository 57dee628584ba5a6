CREATE TABLE audit (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         BIGINT NOT NULL,
    actor      TEXT   NOT NULL,
    action     TEXT   NOT NULL,
    target     TEXT   NOT NULL,
    tenant     TEXT   NOT NULL,
    request_id TEXT   NOT NULL,
    detail     TEXT   NOT NULL
);
CREATE INDEX audit_of_time ON audit (at, number);
CREATE INDEX audit_of_actor ON audit (actor, at, number);
CREATE INDEX audit_of_action ON audit (action, at, number);
CREATE INDEX audit_of_tenant ON audit (tenant, at, number);
CREATE INDEX audit_of_target ON audit (target, at, number);

CREATE FUNCTION audit_refuses() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries of the audit are kept for a day at least, and are not changed';
END $$;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_refuses();
-- The shortest time for which entries are kept is a day.
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit FOR EACH ROW
    WHEN (OLD.at > (extract(epoch FROM clock_timestamp()) - 86400) * 1000) EXECUTE FUNCTION audit_refuses();
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_refuses();
