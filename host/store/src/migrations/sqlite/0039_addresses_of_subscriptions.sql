-- Each subscription that is made at a service has an address of its own. This is the one of the former subscription, until it has ended.
ALTER TABLE subscriptions ADD COLUMN former_address TEXT;
CREATE UNIQUE INDEX subscriptions_of_former_address ON subscriptions (former_address) WHERE former_address IS NOT NULL;

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
            failed_renewals = 0, failed_reads = 0, empty_reads = 0, blocked = NULL,
            fence = fence + 1, rung = rung + 1, leased_until = NULL, due_at = 0
        WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
END;

-- Nothing reaches an account whose access has ended. The next step finds the reason.
CREATE TRIGGER integrations_block_subscriptions AFTER UPDATE OF status ON integrations WHEN NEW.status <> 'active' AND OLD.status = 'active'
BEGIN
    UPDATE subscriptions SET blocked = 'user', rung = rung + 1, due_at = 0 WHERE blocked IS NULL AND tenant = NEW.tenant
        AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
END;

-- What waits for the user goes on once the user has connected the account again, also if a step has just found that it waits.
DROP TRIGGER integrations_wake_subscriptions;
CREATE TRIGGER integrations_wake_subscriptions AFTER UPDATE OF status ON integrations WHEN NEW.status = 'active' AND OLD.status <> 'active'
BEGIN
    UPDATE subscriptions SET rung = rung + 1, due_at = 0 WHERE blocked = 'user' AND tenant = NEW.tenant AND subject = NEW.subject
        AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
END;
