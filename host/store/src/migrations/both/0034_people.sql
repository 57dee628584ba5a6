-- For finding a person who complains: by the user, the name of an account, or the account at its service.
CREATE INDEX calls_of_subject ON calls (subject, at, number);
CREATE INDEX calls_of_account ON calls (user_identifier, at, number) WHERE user_identifier IS NOT NULL;
CREATE INDEX integrations_of_account ON integrations (account_id) WHERE account_id IS NOT NULL;
CREATE INDEX integrations_of_email ON integrations (lower(account_email)) WHERE account_email IS NOT NULL;
