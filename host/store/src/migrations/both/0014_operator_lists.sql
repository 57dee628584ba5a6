-- For the lists of all tenants, the newest first.
CREATE INDEX integrations_of_time ON integrations (created_at, id);
CREATE INDEX integrations_of_tenant ON integrations (tenant, created_at, id);
CREATE INDEX integrations_of_subject ON integrations (subject, created_at, id);
CREATE INDEX integrations_of_connector ON integrations (connector, created_at, id);
CREATE INDEX integrations_of_identifier ON integrations (user_identifier, created_at, id);
CREATE INDEX integrations_of_status ON integrations (status, created_at, id) WHERE status <> 'active';
CREATE INDEX integrations_unrefreshed ON integrations (created_at, id)
    WHERE next_refresh_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX jobs_of_status ON jobs (status, id);
CREATE INDEX jobs_of_tenant ON jobs (tenant, id);
