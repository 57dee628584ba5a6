-- Until then, the service wants no request for the subscription, as it has said.
ALTER TABLE subscriptions ADD COLUMN limited_until INTEGER;
-- Time of the last read that failed or that a caller has requested.
ALTER TABLE subscriptions ADD COLUMN tried_at INTEGER;

-- Until then, the service is not asked who else sees the notifications at the inbox.
ALTER TABLE inboxes ADD COLUMN quiet_until INTEGER;
CREATE INDEX shared_notifications_of_inbox ON shared_notifications (inbox, due_at);

-- Notifications about which the service was asked, so that it is not asked again when it sends them once more.
CREATE TABLE asked_notifications (
    id         TEXT    NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX asked_notifications_expired ON asked_notifications (expires_at);
