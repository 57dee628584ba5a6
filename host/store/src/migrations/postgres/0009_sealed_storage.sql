-- Values of connectors' storage are sealed. A value without a data key was stored before this migration. It stays readable until it is
-- set again, deleted or expired. `id` is a hash of connector, integration and key.
ALTER TABLE connector_storage ADD COLUMN id TEXT;
ALTER TABLE connector_storage ADD COLUMN data_key TEXT REFERENCES data_keys (id);
CREATE UNIQUE INDEX connector_storage_id ON connector_storage (id);
CREATE INDEX connector_storage_sealed ON connector_storage (data_key, id);
