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

-- Adds to the part of this session.
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

-- The size of a row is `stored_size`, which each table has below.
CREATE FUNCTION count_stored_bytes() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM add_stored_bytes(OLD.tenant, -stored_size(OLD));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM add_stored_bytes(NEW.tenant, stored_size(NEW));
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION stored_size(stored idempotency_keys) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(300 + coalesce(octet_length(stored.answer), 0) AS BIGINT)';
CREATE TRIGGER idempotency_keys_counted AFTER INSERT OR DELETE OR UPDATE OF answer ON idempotency_keys
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(idempotency_keys)) FROM idempotency_keys WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored jobs) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(500 + stored.value_bytes AS BIGINT)';
CREATE TRIGGER jobs_counted AFTER INSERT OR DELETE OR UPDATE OF value_bytes ON jobs
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(jobs)) FROM jobs WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored connector_storage) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(200 + coalesce(octet_length(stored.value), 0) AS BIGINT)';
CREATE TRIGGER connector_storage_counted AFTER INSERT OR DELETE OR UPDATE OF value, tenant ON connector_storage
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(connector_storage)) FROM connector_storage WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored webhook_payloads) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(200 + coalesce(octet_length(stored.payload), 0) AS BIGINT)';
CREATE TRIGGER webhook_payloads_counted AFTER INSERT OR DELETE OR UPDATE OF payload ON webhook_payloads
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(webhook_payloads)) FROM webhook_payloads WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored webhook_deliveries) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(1000 AS BIGINT)';
CREATE TRIGGER webhook_deliveries_counted AFTER INSERT OR DELETE ON webhook_deliveries
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(webhook_deliveries)) FROM webhook_deliveries WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored tool_sets) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(200 + octet_length(stored.definition) AS BIGINT)';
CREATE TRIGGER tool_sets_counted AFTER INSERT OR DELETE ON tool_sets
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(tool_sets)) FROM tool_sets WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored connect_links) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(1000 AS BIGINT)';
CREATE TRIGGER connect_links_counted AFTER INSERT OR DELETE ON connect_links
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(connect_links)) FROM connect_links WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored authorizations) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(1000 AS BIGINT)';
CREATE TRIGGER authorizations_counted AFTER INSERT OR DELETE ON authorizations
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(authorizations)) FROM authorizations WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored pending_grants) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(500 + coalesce(octet_length(stored.secret), 0) AS BIGINT)';
CREATE TRIGGER pending_grants_counted AFTER INSERT OR DELETE OR UPDATE OF secret ON pending_grants
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(pending_grants)) FROM pending_grants WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored integrations) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(1000 + coalesce(octet_length(stored.secret), 0) AS BIGINT)';
CREATE TRIGGER integrations_counted AFTER INSERT OR DELETE OR UPDATE OF secret ON integrations
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(integrations)) FROM integrations WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;

CREATE FUNCTION stored_size(stored audit) RETURNS BIGINT LANGUAGE sql AS
    'SELECT CAST(200 + octet_length(stored.actor) + octet_length(stored.target) + octet_length(stored.request_id) + octet_length(stored.detail) AS BIGINT)';
CREATE TRIGGER audit_counted AFTER INSERT OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION count_stored_bytes();
INSERT INTO stored_bytes (tenant, part, bytes)
    SELECT tenant, 0, sum(stored_size(audit)) FROM audit WHERE tenant <> '' GROUP BY tenant
    ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
