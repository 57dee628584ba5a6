-- The migration for SQLite has the same tables and explains them.

CREATE TABLE stored_bytes (
    tenant TEXT   NOT NULL,
    part   BIGINT NOT NULL,
    bytes  BIGINT NOT NULL,
    PRIMARY KEY (tenant, part)
);
CREATE INDEX stored_bytes_parts ON stored_bytes (tenant) WHERE part <> 0;

ALTER TABLE jobs ADD COLUMN value_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE connector_storage ADD COLUMN tenant TEXT;

-- Adds to the part of this session. A statement that adds or deletes many rows counts once for each tenant, below: one that counted for
-- each row would walk over all its previous counts.
CREATE FUNCTION add_stored_bytes(of_tenant TEXT, change BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF of_tenant <> '' AND change <> 0 THEN
        INSERT INTO stored_bytes (tenant, part, bytes) VALUES (of_tenant, pg_backend_pid(), change)
            ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    END IF;
END $$;

CREATE FUNCTION count_job_value() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        UPDATE jobs SET value_bytes = value_bytes - octet_length(OLD.bytes) WHERE id = OLD.job;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        UPDATE jobs SET value_bytes = value_bytes + octet_length(NEW.bytes) WHERE id = NEW.job;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER job_values_counted AFTER INSERT OR DELETE OR UPDATE OF bytes ON job_values
    FOR EACH ROW EXECUTE FUNCTION count_job_value();
UPDATE jobs SET value_bytes = coalesce((SELECT sum(octet_length(bytes)) FROM job_values WHERE job = jobs.id), 0);
UPDATE connector_storage SET tenant = coalesce((SELECT tenant FROM integrations WHERE id = integration), integration);

CREATE FUNCTION count_idempotency_keys() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(300 + coalesce(octet_length(answer), 0))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER idempotency_keys_stored AFTER INSERT ON idempotency_keys REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_idempotency_keys();
CREATE TRIGGER idempotency_keys_freed AFTER DELETE ON idempotency_keys REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_idempotency_keys();
CREATE FUNCTION recount_idempotency_keys() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_stored_bytes(OLD.tenant, -(300 + coalesce(octet_length(OLD.answer), 0)));
    PERFORM add_stored_bytes(NEW.tenant, 300 + coalesce(octet_length(NEW.answer), 0));
    RETURN NULL;
END $$;
CREATE TRIGGER idempotency_keys_replaced AFTER UPDATE OF answer ON idempotency_keys
    FOR EACH ROW EXECUTE FUNCTION recount_idempotency_keys();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(300 + coalesce(octet_length(answer), 0)) FROM idempotency_keys WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_jobs() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(500 + value_bytes)
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_stored AFTER INSERT ON jobs REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_jobs();
CREATE TRIGGER jobs_freed AFTER DELETE ON jobs REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_jobs();
CREATE FUNCTION recount_jobs() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_stored_bytes(OLD.tenant, -(500 + OLD.value_bytes));
    PERFORM add_stored_bytes(NEW.tenant, 500 + NEW.value_bytes);
    RETURN NULL;
END $$;
CREATE TRIGGER jobs_replaced AFTER UPDATE OF value_bytes ON jobs
    FOR EACH ROW EXECUTE FUNCTION recount_jobs();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(500 + value_bytes) FROM jobs WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_connector_storage() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(200 + coalesce(octet_length(value), 0))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER connector_storage_stored AFTER INSERT ON connector_storage REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_connector_storage();
CREATE TRIGGER connector_storage_freed AFTER DELETE ON connector_storage REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_connector_storage();
CREATE FUNCTION recount_connector_storage() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_stored_bytes(OLD.tenant, -(200 + coalesce(octet_length(OLD.value), 0)));
    PERFORM add_stored_bytes(NEW.tenant, 200 + coalesce(octet_length(NEW.value), 0));
    RETURN NULL;
END $$;
CREATE TRIGGER connector_storage_replaced AFTER UPDATE OF value, tenant ON connector_storage
    FOR EACH ROW EXECUTE FUNCTION recount_connector_storage();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(200 + coalesce(octet_length(value), 0)) FROM connector_storage WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_webhook_payloads() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(200 + coalesce(octet_length(payload), 0))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER webhook_payloads_stored AFTER INSERT ON webhook_payloads REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_webhook_payloads();
CREATE TRIGGER webhook_payloads_freed AFTER DELETE ON webhook_payloads REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_webhook_payloads();
CREATE FUNCTION recount_webhook_payloads() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_stored_bytes(OLD.tenant, -(200 + coalesce(octet_length(OLD.payload), 0)));
    PERFORM add_stored_bytes(NEW.tenant, 200 + coalesce(octet_length(NEW.payload), 0));
    RETURN NULL;
END $$;
CREATE TRIGGER webhook_payloads_replaced AFTER UPDATE OF payload ON webhook_payloads
    FOR EACH ROW EXECUTE FUNCTION recount_webhook_payloads();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(200 + coalesce(octet_length(payload), 0)) FROM webhook_payloads WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_webhook_deliveries() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(1000)
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER webhook_deliveries_stored AFTER INSERT ON webhook_deliveries REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_webhook_deliveries();
CREATE TRIGGER webhook_deliveries_freed AFTER DELETE ON webhook_deliveries REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_webhook_deliveries();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000) FROM webhook_deliveries WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_tool_sets() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(200 + octet_length(definition))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER tool_sets_stored AFTER INSERT ON tool_sets REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_tool_sets();
CREATE TRIGGER tool_sets_freed AFTER DELETE ON tool_sets REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_tool_sets();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(200 + octet_length(definition)) FROM tool_sets WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_connect_links() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(1000)
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER connect_links_stored AFTER INSERT ON connect_links REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_connect_links();
CREATE TRIGGER connect_links_freed AFTER DELETE ON connect_links REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_connect_links();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000) FROM connect_links WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_authorizations() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(1000)
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER authorizations_stored AFTER INSERT ON authorizations REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_authorizations();
CREATE TRIGGER authorizations_freed AFTER DELETE ON authorizations REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_authorizations();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000) FROM authorizations WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_pending_grants() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(500 + coalesce(octet_length(secret), 0))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER pending_grants_stored AFTER INSERT ON pending_grants REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_pending_grants();
CREATE TRIGGER pending_grants_freed AFTER DELETE ON pending_grants REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_pending_grants();
CREATE FUNCTION recount_pending_grants() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_stored_bytes(OLD.tenant, -(500 + coalesce(octet_length(OLD.secret), 0)));
    PERFORM add_stored_bytes(NEW.tenant, 500 + coalesce(octet_length(NEW.secret), 0));
    RETURN NULL;
END $$;
CREATE TRIGGER pending_grants_replaced AFTER UPDATE OF secret ON pending_grants
    FOR EACH ROW EXECUTE FUNCTION recount_pending_grants();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(500 + coalesce(octet_length(secret), 0)) FROM pending_grants WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_integrations() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(1000 + coalesce(octet_length(secret), 0))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER integrations_stored AFTER INSERT ON integrations REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_integrations();
CREATE TRIGGER integrations_freed AFTER DELETE ON integrations REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_integrations();
CREATE FUNCTION recount_integrations() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_stored_bytes(OLD.tenant, -(1000 + coalesce(octet_length(OLD.secret), 0)));
    PERFORM add_stored_bytes(NEW.tenant, 1000 + coalesce(octet_length(NEW.secret), 0));
    RETURN NULL;
END $$;
CREATE TRIGGER integrations_replaced AFTER UPDATE OF secret ON integrations
    FOR EACH ROW EXECUTE FUNCTION recount_integrations();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(1000 + coalesce(octet_length(secret), 0)) FROM integrations WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION count_audit() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(200 + octet_length(actor) + octet_length(target) + octet_length(request_id) + octet_length(detail))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_stored AFTER INSERT ON audit REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_audit();
CREATE TRIGGER audit_freed AFTER DELETE ON audit REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_audit();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(200 + octet_length(actor) + octet_length(target) + octet_length(request_id) + octet_length(detail)) FROM audit WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
