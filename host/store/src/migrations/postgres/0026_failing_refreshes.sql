-- The time from which on the refreshes of an active account have failed: when the first of them was due. NULL after a success. A gateway of
-- the release before does not write it, so it holds only together with `reason`, which such a gateway empties after a success.
ALTER TABLE integrations ADD COLUMN refresh_failing_since BIGINT;
-- Finds overdue refreshes. Statements have the same expression.
CREATE INDEX integrations_overdue ON integrations
    ((CASE WHEN reason IS NULL THEN next_refresh_at ELSE coalesce(refresh_failing_since, next_refresh_at) END))
    WHERE status = 'active' AND auth_type = 'oauth2';
