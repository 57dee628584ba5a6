-- Triggers and subscriptions count in what a tenant has stored, as their events do.

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(500 + length(definition) + length(CAST(labels AS BLOB))) FROM triggers WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER triggers_stored AFTER INSERT ON triggers WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 500 + length(NEW.definition) + length(CAST(NEW.labels AS BLOB)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER triggers_freed AFTER DELETE ON triggers WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(500 + length(OLD.definition) + length(CAST(OLD.labels AS BLOB))))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER triggers_replaced AFTER UPDATE OF definition, labels ON triggers
    WHEN OLD.tenant <> '' AND length(NEW.definition) + length(CAST(NEW.labels AS BLOB)) <> length(OLD.definition) + length(CAST(OLD.labels AS BLOB))
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, (length(NEW.definition) + length(CAST(NEW.labels AS BLOB))) - (length(OLD.definition) + length(CAST(OLD.labels AS BLOB))))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000 + length(secret) + coalesce(length(cursor), 0)) FROM subscriptions WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER subscriptions_stored AFTER INSERT ON subscriptions WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 1000 + length(NEW.secret) + coalesce(length(NEW.cursor), 0))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER subscriptions_freed AFTER DELETE ON subscriptions WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(1000 + length(OLD.secret) + coalesce(length(OLD.cursor), 0)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
-- Each read replaces the cursor, mostly with one of the same length.
CREATE TRIGGER subscriptions_replaced AFTER UPDATE OF secret, cursor ON subscriptions
    WHEN OLD.tenant <> '' AND length(NEW.secret) + coalesce(length(NEW.cursor), 0) <> length(OLD.secret) + coalesce(length(OLD.cursor), 0)
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, (length(NEW.secret) + coalesce(length(NEW.cursor), 0)) - (length(OLD.secret) + coalesce(length(OLD.cursor), 0)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
