-- The connectors and operations that a key may call, as JSON. NULL if it may call all.
ALTER TABLE api_keys ADD COLUMN allowed TEXT;
-- Names of effects, separated by spaces. NULL for all.
ALTER TABLE api_keys ADD COLUMN effects TEXT;
ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
-- As the audit names actors. Empty for keys that were made before this column.
ALTER TABLE api_keys ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
CREATE INDEX api_keys_of_time ON api_keys (created_at, id);
-- The key that added a job. NULL if a caller with another token added it.
ALTER TABLE jobs ADD COLUMN key_id TEXT;
