-- Texts that callers gave an integration, as a JSON object whose members are in alphabetical order.
ALTER TABLE integrations ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
-- The labels of the integration that the authorization will make. NULL if the caller gave none.
ALTER TABLE authorizations ADD COLUMN labels TEXT;
