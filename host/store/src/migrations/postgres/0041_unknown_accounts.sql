-- The migration for SQLite explains it. Each statement that sets the email address sets the id too, so the trigger runs for it.
CREATE OR REPLACE FUNCTION part_from_former_account() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    is_other BOOLEAN := NEW.address IS DISTINCT FROM OLD.address
        OR ((OLD.account_id IS NOT NULL OR OLD.account_email IS NOT NULL)
            AND (NEW.account_id IS DISTINCT FROM OLD.account_id
                OR (NEW.account_id IS NULL AND COALESCE(NEW.account_email <> OLD.account_email, FALSE))));
    is_known_now BOOLEAN := OLD.account_id IS NULL AND OLD.account_email IS NULL
        AND (NEW.account_id IS NOT NULL OR NEW.account_email IS NOT NULL);
BEGIN
    IF is_other OR is_known_now THEN
        -- Notifications lock the rows in this order too.
        PERFORM 1 FROM subscriptions WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector
            AND user_identifier = NEW.user_identifier ORDER BY id FOR UPDATE;
    END IF;
    IF is_other THEN
        UPDATE subscriptions SET is_identified = FALSE, route = NULL, address = NULL, former_address = NULL, cursor_key = NULL,
                cursor = NULL, standing = 'new', expires_at = NULL, renewed_at = NULL, renew_at = NULL, last_push_at = NULL,
                read_at = NULL, limited_until = NULL, tried_at = NULL, failed_renewals = 0, failed_reads = 0, empty_reads = 0, blocked = NULL,
                fence = fence + 1, rung = rung + 1, leased_until = NULL, due_at = 0
            WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
    ELSIF is_known_now THEN
        UPDATE subscriptions SET is_identified = FALSE, route = NULL, address = NULL, former_address = NULL,
                renew_at = CASE standing WHEN 'active' THEN 0 ELSE renew_at END, failed_renewals = 0,
                fence = fence + 1, rung = rung + 1, leased_until = NULL, due_at = 0
            WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
    END IF;
    RETURN NULL;
END $$;
