-- Each notification of a service asks how many webhooks of its tenant wait, and must not look at those of other tenants.
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (tenant, status, trigger_id)
    WHERE status = 'pending' AND trigger_id IS NOT NULL;
