-- The migration for SQLite has the same columns and explains them.
ALTER TABLE subscriptions ADD COLUMN limited_until BIGINT;
ALTER TABLE subscriptions ADD COLUMN tried_at BIGINT;

-- Another account under the same name gets nothing of the former one: neither its notifications nor what its cursor leads to. The fence makes
-- a step that has begun for the former account store nothing. Accounts are told apart by their ids, else by their email addresses, as for the
-- values that connectors store. Each statement that sets the email address sets the id too, so the trigger runs for it.
CREATE OR REPLACE FUNCTION part_from_former_account() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.account_id IS NOT NULL OR OLD.account_email IS NOT NULL)
        AND (NEW.account_id IS DISTINCT FROM OLD.account_id
            OR (NEW.account_id IS NULL AND NEW.account_email <> OLD.account_email)
            OR NEW.address IS DISTINCT FROM OLD.address)
    THEN
        -- Notifications lock the rows in this order too.
        PERFORM 1 FROM subscriptions WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector
            AND user_identifier = NEW.user_identifier ORDER BY id FOR UPDATE;
        UPDATE subscriptions SET is_identified = FALSE, route = NULL, address = NULL, former_address = NULL, cursor_key = NULL,
                cursor = NULL, standing = 'new', expires_at = NULL, renewed_at = NULL, renew_at = NULL, last_push_at = NULL,
                read_at = NULL, limited_until = NULL, tried_at = NULL, failed_renewals = 0, failed_reads = 0, empty_reads = 0, blocked = NULL,
                fence = fence + 1, rung = rung + 1, leased_until = NULL, due_at = 0
            WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
    END IF;
    RETURN NULL;
END $$;

CREATE INDEX subscriptions_at_inbox ON subscriptions (connector, inbox, id) WHERE route IS NOT NULL;

ALTER TABLE inboxes ADD COLUMN quiet_until BIGINT;
ALTER TABLE inboxes ADD COLUMN unanswered_since BIGINT;

ALTER TABLE shared_notifications ADD COLUMN is_lost BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX shared_notifications_of_inbox ON shared_notifications (inbox, is_lost, due_at, id);
CREATE INDEX shared_notifications_by_age ON shared_notifications (inbox, is_lost, created_at, id);

CREATE TABLE asked_notifications (
    id         TEXT   NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX asked_notifications_expired ON asked_notifications (expires_at);
