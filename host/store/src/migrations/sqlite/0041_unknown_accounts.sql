-- Another account under the same name gets nothing of the former one. An account at another address is another one, also if the service has named neither.
DROP TRIGGER integrations_are_others;
CREATE TRIGGER integrations_are_others AFTER UPDATE OF account_id, account_email, address ON integrations
    WHEN NEW.address IS NOT OLD.address
        OR ((OLD.account_id IS NOT NULL OR OLD.account_email IS NOT NULL)
            AND (NEW.account_id IS NOT OLD.account_id OR (NEW.account_id IS NULL AND NEW.account_email <> OLD.account_email)))
BEGIN
    UPDATE subscriptions SET is_identified = 0, route = NULL, address = NULL, former_address = NULL, cursor_key = NULL, cursor = NULL,
            standing = 'new', expires_at = NULL, renewed_at = NULL, renew_at = NULL, last_push_at = NULL, read_at = NULL,
            limited_until = NULL, tried_at = NULL, failed_renewals = 0, failed_reads = 0, empty_reads = 0, blocked = NULL,
            fence = fence + 1, rung = rung + 1, leased_until = NULL, due_at = 0
        WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
END;

-- An account that is known now may be another one than the unknown account before. Nothing proves that it may get the notifications for that one, so
-- the service is asked whose account it is, and for others. The cursor stays: a read tells only what the account may see.
CREATE TRIGGER integrations_are_known_now AFTER UPDATE OF account_id, account_email, address ON integrations
    WHEN NEW.address IS OLD.address AND OLD.account_id IS NULL AND OLD.account_email IS NULL
        AND (NEW.account_id IS NOT NULL OR NEW.account_email IS NOT NULL)
BEGIN
    UPDATE subscriptions SET is_identified = 0, route = NULL, address = NULL, former_address = NULL,
            renew_at = CASE standing WHEN 'active' THEN 0 ELSE renew_at END, failed_renewals = 0,
            fence = fence + 1, rung = rung + 1, leased_until = NULL, due_at = 0
        WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
END;
