-- People who have signed in to the console at an OpenID provider. Their sessions have the empty `key_id`, which no key has, so that
-- a gateway of the previous version takes such a session for one that has ended.
--
-- The provider's name for itself. NULL for the session of a key.
ALTER TABLE console_sessions ADD COLUMN issuer TEXT;
-- The provider's id of the person. NULL for the session of a key.
ALTER TABLE console_sessions ADD COLUMN subject TEXT;
-- A name of the person for people. It may be empty. NULL for the session of a key.
ALTER TABLE console_sessions ADD COLUMN person TEXT;
