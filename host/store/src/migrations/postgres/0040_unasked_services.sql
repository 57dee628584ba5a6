-- The migration for SQLite has the same columns and explains them.
ALTER TABLE subscriptions ADD COLUMN limited_until BIGINT;
ALTER TABLE subscriptions ADD COLUMN tried_at BIGINT;

ALTER TABLE inboxes ADD COLUMN quiet_until BIGINT;
CREATE INDEX shared_notifications_of_inbox ON shared_notifications (inbox, due_at);

CREATE TABLE asked_notifications (
    id         TEXT   NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX asked_notifications_expired ON asked_notifications (expires_at);
