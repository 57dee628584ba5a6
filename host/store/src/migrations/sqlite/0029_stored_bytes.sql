-- The bytes that a tenant has stored in all tables together. Triggers count them, so that no statement can forget it. A row counts with a
-- base for its other columns and its indexes.
CREATE TABLE stored_bytes (
    tenant TEXT    NOT NULL,
    -- On PostgreSQL the process of the session that has counted, so that two transactions of a tenant never wait for each other. The
    -- gateway adds the parts of sessions up in part 0.
    part   INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    PRIMARY KEY (tenant, part)
) STRICT, WITHOUT ROWID;

-- The bytes of a job's values.
ALTER TABLE jobs ADD COLUMN value_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET value_bytes = coalesce((SELECT sum(length(bytes)) FROM job_values WHERE job = jobs.id), 0);

-- The tenant of a value. NULL if a gateway of an earlier release has stored it.
ALTER TABLE connector_storage ADD COLUMN tenant TEXT;
UPDATE connector_storage SET tenant = coalesce((SELECT tenant FROM integrations WHERE id = integration), integration);

CREATE TRIGGER job_values_added AFTER INSERT ON job_values BEGIN
    UPDATE jobs SET value_bytes = value_bytes + length(NEW.bytes) WHERE id = NEW.job;
END;
CREATE TRIGGER job_values_changed AFTER UPDATE OF bytes ON job_values BEGIN
    UPDATE jobs SET value_bytes = value_bytes + length(NEW.bytes) - length(OLD.bytes) WHERE id = NEW.job;
END;
CREATE TRIGGER job_values_removed AFTER DELETE ON job_values BEGIN
    UPDATE jobs SET value_bytes = value_bytes - length(OLD.bytes) WHERE id = OLD.job;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(300 + coalesce(length(answer), 0)) FROM idempotency_keys WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER idempotency_keys_stored AFTER INSERT ON idempotency_keys WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 300 + coalesce(length(NEW.answer), 0))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER idempotency_keys_freed AFTER DELETE ON idempotency_keys WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(300 + coalesce(length(OLD.answer), 0)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER idempotency_keys_replaced AFTER UPDATE OF answer ON idempotency_keys BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT OLD.tenant, 0, -(300 + coalesce(length(OLD.answer), 0)) WHERE OLD.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT NEW.tenant, 0, 300 + coalesce(length(NEW.answer), 0) WHERE NEW.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(500 + value_bytes) FROM jobs WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER jobs_stored AFTER INSERT ON jobs WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 500 + NEW.value_bytes)
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER jobs_freed AFTER DELETE ON jobs WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(500 + OLD.value_bytes))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER jobs_replaced AFTER UPDATE OF value_bytes ON jobs BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT OLD.tenant, 0, -(500 + OLD.value_bytes) WHERE OLD.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT NEW.tenant, 0, 500 + NEW.value_bytes WHERE NEW.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(200 + coalesce(length(value), 0)) FROM connector_storage WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER connector_storage_stored AFTER INSERT ON connector_storage WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 200 + coalesce(length(NEW.value), 0))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER connector_storage_freed AFTER DELETE ON connector_storage WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(200 + coalesce(length(OLD.value), 0)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER connector_storage_replaced AFTER UPDATE OF value, tenant ON connector_storage BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT OLD.tenant, 0, -(200 + coalesce(length(OLD.value), 0)) WHERE OLD.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT NEW.tenant, 0, 200 + coalesce(length(NEW.value), 0) WHERE NEW.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(200 + coalesce(length(payload), 0)) FROM webhook_payloads WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER webhook_payloads_stored AFTER INSERT ON webhook_payloads WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 200 + coalesce(length(NEW.payload), 0))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER webhook_payloads_freed AFTER DELETE ON webhook_payloads WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(200 + coalesce(length(OLD.payload), 0)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER webhook_payloads_replaced AFTER UPDATE OF payload ON webhook_payloads BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT OLD.tenant, 0, -(200 + coalesce(length(OLD.payload), 0)) WHERE OLD.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT NEW.tenant, 0, 200 + coalesce(length(NEW.payload), 0) WHERE NEW.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000) FROM webhook_deliveries WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER webhook_deliveries_stored AFTER INSERT ON webhook_deliveries WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 1000)
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER webhook_deliveries_freed AFTER DELETE ON webhook_deliveries WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(1000))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(200 + length(definition)) FROM tool_sets WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER tool_sets_stored AFTER INSERT ON tool_sets WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 200 + length(NEW.definition))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER tool_sets_freed AFTER DELETE ON tool_sets WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(200 + length(OLD.definition)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000) FROM connect_links WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER connect_links_stored AFTER INSERT ON connect_links WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 1000)
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER connect_links_freed AFTER DELETE ON connect_links WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(1000))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000) FROM authorizations WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER authorizations_stored AFTER INSERT ON authorizations WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 1000)
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER authorizations_freed AFTER DELETE ON authorizations WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(1000))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(500 + coalesce(length(secret), 0)) FROM pending_grants WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER pending_grants_stored AFTER INSERT ON pending_grants WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 500 + coalesce(length(NEW.secret), 0))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER pending_grants_freed AFTER DELETE ON pending_grants WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(500 + coalesce(length(OLD.secret), 0)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER pending_grants_replaced AFTER UPDATE OF secret ON pending_grants BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT OLD.tenant, 0, -(500 + coalesce(length(OLD.secret), 0)) WHERE OLD.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT NEW.tenant, 0, 500 + coalesce(length(NEW.secret), 0) WHERE NEW.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000 + coalesce(length(secret), 0)) FROM integrations WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER integrations_stored AFTER INSERT ON integrations WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 1000 + coalesce(length(NEW.secret), 0))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER integrations_freed AFTER DELETE ON integrations WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(1000 + coalesce(length(OLD.secret), 0)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER integrations_replaced AFTER UPDATE OF secret ON integrations BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT OLD.tenant, 0, -(1000 + coalesce(length(OLD.secret), 0)) WHERE OLD.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
    INSERT INTO stored_bytes (tenant, part, bytes) SELECT NEW.tenant, 0, 1000 + coalesce(length(NEW.secret), 0) WHERE NEW.tenant <> ''
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(200 + length(actor) + length(target) + length(request_id) + length(detail)) FROM audit WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
CREATE TRIGGER audit_stored AFTER INSERT ON audit WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 200 + length(NEW.actor) + length(NEW.target) + length(NEW.request_id) + length(NEW.detail))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER audit_freed AFTER DELETE ON audit WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(200 + length(OLD.actor) + length(OLD.target) + length(OLD.request_id) + length(OLD.detail)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
