-- The OAuth clients of tenants. A client wins over the configuration's for the authorizations of its tenant.
CREATE TABLE oauth_clients (
    id           TEXT    NOT NULL PRIMARY KEY,
    tenant       TEXT    NOT NULL,
    -- A connector, or a provider of shipped connectors.
    name         TEXT    NOT NULL,
    client_id    TEXT    NOT NULL,
    -- The sealed secret. NULL for a public client.
    data_key     TEXT    REFERENCES data_keys (id),
    secret       BYTEA,
    -- A JSON list. NULL for the scopes of the connector.
    scopes       TEXT,
    -- NULL for the address of the gateway.
    redirect_url TEXT,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    -- NULL for the client that new authorizations use. A replaced one is kept while integrations use it.
    replaced_at  BIGINT,
    CHECK ((data_key IS NULL) = (secret IS NULL))
);
CREATE UNIQUE INDEX oauth_clients_current ON oauth_clients (tenant, name) WHERE replaced_at IS NULL;
CREATE INDEX oauth_clients_of_tenant ON oauth_clients (tenant, name, id);
CREATE INDEX oauth_clients_sealed ON oauth_clients (data_key, id) WHERE data_key IS NOT NULL;
-- The client of the tenant that the account was connected with. NULL for the configuration's.
ALTER TABLE integrations ADD COLUMN oauth_client TEXT;
CREATE INDEX integrations_oauth_client ON integrations (oauth_client) WHERE oauth_client IS NOT NULL;
ALTER TABLE authorizations ADD COLUMN oauth_client TEXT;
-- The hash of the credentials that were imported. NULL for accounts that users connected.
ALTER TABLE integrations ADD COLUMN imported TEXT;
-- For the list of tenants.
CREATE INDEX api_keys_of_tenant ON api_keys (tenant);
