-- Until then, the service wants no request for the subscription, as it has said.
ALTER TABLE subscriptions ADD COLUMN limited_until INTEGER;
-- Time of the last read that failed or that a caller has requested.
ALTER TABLE subscriptions ADD COLUMN tried_at INTEGER;

-- Another account under the same name gets nothing of the former one: neither its notifications nor what its cursor leads to. The fence makes
-- a step that has begun for the former account store nothing. Accounts are told apart by their ids, else by their email addresses, as for the
-- values that connectors store.
DROP TRIGGER integrations_are_others;
CREATE TRIGGER integrations_are_others AFTER UPDATE OF account_id, account_email, address ON integrations
    WHEN (OLD.account_id IS NOT NULL OR OLD.account_email IS NOT NULL)
        AND (NEW.account_id IS NOT OLD.account_id
            OR (NEW.account_id IS NULL AND NEW.account_email <> OLD.account_email)
            OR NEW.address IS NOT OLD.address)
BEGIN
    UPDATE subscriptions SET is_identified = 0, route = NULL, address = NULL, former_address = NULL, cursor_key = NULL, cursor = NULL,
            standing = 'new', expires_at = NULL, renewed_at = NULL, renew_at = NULL, last_push_at = NULL, read_at = NULL,
            limited_until = NULL, tried_at = NULL, failed_renewals = 0, failed_reads = 0, empty_reads = 0, blocked = NULL,
            fence = fence + 1, rung = rung + 1, leased_until = NULL, due_at = 0
        WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
END;

-- The accounts at an inbox are read in the order of their ids.
CREATE INDEX subscriptions_at_inbox ON subscriptions (connector, inbox, id) WHERE route IS NOT NULL;

-- Until then, the service is not asked who else sees the notifications at the inbox.
ALTER TABLE inboxes ADD COLUMN quiet_until INTEGER;
-- Time of the first failure to ask it since its last answer.
ALTER TABLE inboxes ADD COLUMN unanswered_since INTEGER;

-- 1 for a notification about lost events. The service is not asked about it.
ALTER TABLE shared_notifications ADD COLUMN is_lost INTEGER NOT NULL DEFAULT 0;
CREATE INDEX shared_notifications_of_inbox ON shared_notifications (inbox, is_lost, due_at, id);
CREATE INDEX shared_notifications_by_age ON shared_notifications (inbox, is_lost, created_at, id);

-- Notifications about which the service was asked, so that it is not asked again when it sends them once more.
CREATE TABLE asked_notifications (
    id         TEXT    NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX asked_notifications_expired ON asked_notifications (expires_at);
