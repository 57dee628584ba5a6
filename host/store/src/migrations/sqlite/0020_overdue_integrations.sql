-- For the list of overdue accounts, if there are many of them: a page is found in the order of the list, without a look at the
-- accounts that are not overdue.
CREATE INDEX integrations_refreshed ON integrations (created_at, id, next_refresh_at)
    WHERE status = 'active' AND auth_type = 'oauth2';
