-- Each subscription that is made at a service has an address of its own. This is the one of the former subscription, until it has ended.
ALTER TABLE subscriptions ADD COLUMN former_address TEXT;
CREATE UNIQUE INDEX subscriptions_of_former_address ON subscriptions (former_address) WHERE former_address IS NOT NULL;

CREATE OR REPLACE FUNCTION note_integration_change() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    changed integrations := coalesce(NEW, OLD);
    what TEXT;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.status <> OLD.status THEN
            -- Notifications lock the rows in this order too.
            PERFORM 1 FROM subscriptions WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector
                AND user_identifier = NEW.user_identifier ORDER BY id FOR UPDATE;
        END IF;
    END IF;
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
