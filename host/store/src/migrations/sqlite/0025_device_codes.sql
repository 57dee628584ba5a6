-- Authorizations by a device code (RFC 8628). No browser comes back from the provider: a gateway asks the token URL if the user has
-- decided. The column `verifier` has the device code.
--
-- Time between two requests, in milliseconds. NULL for an authorization whose user comes back with a browser.
ALTER TABLE authorizations ADD COLUMN poll_interval INTEGER;
-- The time of the next request. A gateway that sends one moves it on first, so that no other gateway sends it too. NULL at the end.
ALTER TABLE authorizations ADD COLUMN next_poll_at INTEGER;
-- The number of requests so far. A gateway writes only if it has sent the last one.
ALTER TABLE authorizations ADD COLUMN polls INTEGER NOT NULL DEFAULT 0;
-- The result: the identifier of the integration, or why no account was connected.
ALTER TABLE authorizations ADD COLUMN connected_as TEXT;
ALTER TABLE authorizations ADD COLUMN failure TEXT;
CREATE INDEX authorizations_polled ON authorizations (next_poll_at) WHERE next_poll_at IS NOT NULL;
