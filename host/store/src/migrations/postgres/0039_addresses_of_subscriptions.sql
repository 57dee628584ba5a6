-- Each subscription that is made at a service has an address of its own. This is the one of the former subscription, until it has ended.
ALTER TABLE subscriptions ADD COLUMN former_address TEXT;
CREATE UNIQUE INDEX subscriptions_of_former_address ON subscriptions (former_address) WHERE former_address IS NOT NULL;

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
        UPDATE subscriptions SET is_identified = FALSE, route = NULL, address = NULL, former_address = NULL, cursor_key = NULL,
                cursor = NULL, standing = 'new', expires_at = NULL, renewed_at = NULL, renew_at = NULL, last_push_at = NULL,
                read_at = NULL, failed_renewals = 0, failed_reads = 0, empty_reads = 0, blocked = NULL,
                fence = fence + 1, rung = rung + 1, leased_until = NULL, due_at = 0
            WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION note_integration_change() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    changed integrations := coalesce(NEW, OLD);
    what TEXT;
BEGIN
    IF TG_OP = 'INSERT' THEN
        what := 'integration_connected';
    ELSIF TG_OP = 'DELETE' THEN
        what := 'integration_deleted';
    ELSIF NEW.status <> 'active' AND OLD.status = 'active' THEN
        what := 'integration_expired';
        -- Nothing reaches an account whose access has ended. The next step finds the reason.
        UPDATE subscriptions SET blocked = 'user', rung = rung + 1, due_at = 0 WHERE blocked IS NULL AND tenant = NEW.tenant
            AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
    ELSIF NEW.status = 'active' AND OLD.status <> 'active' THEN
        what := 'integration_restored';
        -- What waits for the user goes on once the user has connected the account again, also if a step has just found that it waits.
        UPDATE subscriptions SET rung = rung + 1, due_at = 0 WHERE blocked = 'user' AND tenant = NEW.tenant AND subject = NEW.subject
            AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
    END IF;
    IF what IS NOT NULL AND EXISTS (SELECT 1 FROM triggers WHERE tenant = changed.tenant AND connector = 'gateway') THEN
        INSERT INTO integration_changes (tenant, subject, connector, user_identifier, kind)
            VALUES (changed.tenant, changed.subject, changed.connector, changed.user_identifier, what);
    END IF;
    RETURN NULL;
END $$;
