-- The address of an account at its service: the parts of the service's URLs that differ from account to account, as a JSON object.
ALTER TABLE integrations ADD COLUMN address TEXT NOT NULL DEFAULT '{}';
-- The parts that the caller gave. The service gives the others at the end of the authorization.
ALTER TABLE authorizations ADD COLUMN address TEXT NOT NULL DEFAULT '{}';
