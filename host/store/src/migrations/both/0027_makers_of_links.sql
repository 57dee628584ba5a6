-- The API key that made a link or began an authorization, which end when it is revoked. NULL for a JWT, for the link of an authorization,
-- and for rows of the release before.
ALTER TABLE connect_links ADD COLUMN key_id TEXT;
ALTER TABLE authorizations ADD COLUMN key_id TEXT;
