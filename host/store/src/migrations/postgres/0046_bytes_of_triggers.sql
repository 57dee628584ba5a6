-- The migration for SQLite has the same triggers and explains them.

CREATE FUNCTION count_triggers() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(500 + octet_length(definition) + octet_length(labels))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER triggers_stored AFTER INSERT ON triggers REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_triggers();
CREATE TRIGGER triggers_freed AFTER DELETE ON triggers REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_triggers();
CREATE FUNCTION recount_triggers() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_stored_bytes(OLD.tenant, (octet_length(NEW.definition) + octet_length(NEW.labels)) - (octet_length(OLD.definition) + octet_length(OLD.labels)));
    RETURN NULL;
END $$;
CREATE TRIGGER triggers_replaced AFTER UPDATE OF definition, labels ON triggers
    FOR EACH ROW EXECUTE FUNCTION recount_triggers();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(500 + octet_length(definition) + octet_length(labels)) FROM triggers WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_subscriptions() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(1000 + octet_length(secret) + coalesce(octet_length(cursor), 0))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER subscriptions_stored AFTER INSERT ON subscriptions REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_subscriptions();
CREATE TRIGGER subscriptions_freed AFTER DELETE ON subscriptions REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_subscriptions();
CREATE FUNCTION recount_subscriptions() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_stored_bytes(OLD.tenant, (octet_length(NEW.secret) + coalesce(octet_length(NEW.cursor), 0)) - (octet_length(OLD.secret) + coalesce(octet_length(OLD.cursor), 0)));
    RETURN NULL;
END $$;
CREATE TRIGGER subscriptions_replaced AFTER UPDATE OF secret, cursor ON subscriptions
    FOR EACH ROW EXECUTE FUNCTION recount_subscriptions();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000 + octet_length(secret) + coalesce(octet_length(cursor), 0)) FROM subscriptions WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
