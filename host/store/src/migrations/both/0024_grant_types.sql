-- The credentials of an account from which the gateway gets access tokens: `client_credentials`, `service_account` or
-- `app_installation`. NULL if the user authorized, or if the account has a key or no secret.
--
-- A gateway of the previous version takes such an account for one without a refresh token: it uses the access token until it
-- expires.
ALTER TABLE integrations ADD COLUMN grant_type TEXT;
