-- Each subscription that is made at a service has an address of its own. This is the one of the former subscription, until it has ended.
ALTER TABLE subscriptions ADD COLUMN former_address TEXT;
CREATE UNIQUE INDEX subscriptions_of_former_address ON subscriptions (former_address) WHERE former_address IS NOT NULL;

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
