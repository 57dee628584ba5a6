-- Values of connectors' storage are sealed. A value without a data key was stored before this migration. The gateway seals it after its
-- start; until then it stays readable. `id` is a hash of connector, integration and key, for which the value is sealed.
ALTER TABLE connector_storage ADD COLUMN id TEXT;
ALTER TABLE connector_storage ADD COLUMN data_key TEXT REFERENCES data_keys (id);
CREATE UNIQUE INDEX connector_storage_id ON connector_storage (id);
CREATE INDEX connector_storage_sealed ON connector_storage (data_key, id);
