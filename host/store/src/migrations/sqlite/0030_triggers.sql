-- Events of services.

-- Inboxes that serve a whole application of the operator at a service.
CREATE TABLE inboxes (
    id               TEXT    NOT NULL PRIMARY KEY,
    connector        TEXT    NOT NULL,
    -- The name that the connector declares.
    inbox            TEXT    NOT NULL,
    -- Empty if it serves all tenants.
    tenant           TEXT    NOT NULL,
    -- The last segment of the public address.
    address          TEXT    NOT NULL UNIQUE,
    created_at       INTEGER NOT NULL,
    last_accepted_at INTEGER,
    last_rejected_at INTEGER,
    last_rejection   TEXT,
    UNIQUE (connector, inbox, tenant)
) STRICT;

CREATE TABLE inbox_secrets (
    id         TEXT    NOT NULL PRIMARY KEY,
    inbox      TEXT    NOT NULL REFERENCES inboxes (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    data_key   TEXT    NOT NULL REFERENCES data_keys (id),
    secret     BLOB    NOT NULL
) STRICT;
CREATE INDEX inbox_secrets_of_inbox ON inbox_secrets (inbox);
CREATE INDEX inbox_secrets_sealed ON inbox_secrets (data_key, id);

-- Subscriptions at services, and the readers of what happened there. The triggers of one account that agree in what is covered share one.
CREATE TABLE subscriptions (
    id              TEXT    NOT NULL PRIMARY KEY,
    tenant          TEXT    NOT NULL,
    -- Empty for the tenant itself.
    subject         TEXT    NOT NULL,
    connector       TEXT    NOT NULL,
    -- Empty if the connector needs no account.
    user_identifier TEXT    NOT NULL,
    -- SHA-256 of what it covers.
    covers          TEXT    NOT NULL,
    -- The inbox that the service notifies. NULL if it notifies none.
    inbox           TEXT,
    -- The last segment of the public address. NULL for an inbox of an application.
    address         TEXT    UNIQUE,
    -- SHA-256 of the account in notifications at an inbox of an application.
    route           TEXT,
    -- The sealed parameters, secret and answers of the service.
    data_key        TEXT    NOT NULL REFERENCES data_keys (id),
    secret          BLOB    NOT NULL,
    -- The sealed cursor. NULL before the first read.
    cursor_key      TEXT    REFERENCES data_keys (id),
    cursor          BLOB,
    -- 'new', 'active' or 'none'.
    standing        TEXT    NOT NULL,
    -- The kinds that the service was asked for, as a JSON list.
    kinds           TEXT    NOT NULL,
    expires_at      INTEGER,
    renewed_at      INTEGER,
    -- The URL of this gateway that the service knows, up to the address.
    base            TEXT,
    -- Time of the next renewal.
    renew_at        INTEGER,
    last_push_at    INTEGER,
    last_read_at    INTEGER,
    -- Time of the next read.
    read_at         INTEGER,
    -- Renewals or reads that failed since the last one that succeeded, and the reason of the last failure.
    failed_renewals INTEGER NOT NULL DEFAULT 0,
    failed_reads    INTEGER NOT NULL DEFAULT 0,
    -- Reads in a row that have found nothing, since the last notification.
    empty_reads     INTEGER NOT NULL DEFAULT 0,
    reason          TEXT,
    -- 'user' while the user must connect the account again, 'final' once the service has refused for good.
    blocked         TEXT,
    -- Grows with each notification that calls for a read.
    rung            INTEGER NOT NULL DEFAULT 0,
    -- 1 while the service may prove that the address is ours.
    shakes_hands    INTEGER NOT NULL DEFAULT 0,
    -- 0 once another account is connected under the name, until the service has said whose it is.
    is_identified   INTEGER NOT NULL DEFAULT 1,
    -- Time of the next work on it.
    due_at          INTEGER NOT NULL,
    fence           INTEGER NOT NULL DEFAULT 0,
    leased_until    INTEGER,
    UNIQUE (tenant, subject, connector, user_identifier, covers)
) STRICT;
CREATE INDEX subscriptions_due ON subscriptions (due_at);
CREATE INDEX subscriptions_of_state ON subscriptions (blocked, standing);
CREATE INDEX subscriptions_of_route ON subscriptions (connector, inbox, route) WHERE route IS NOT NULL;
CREATE INDEX subscriptions_sealed ON subscriptions (data_key, id);
CREATE INDEX subscriptions_cursors ON subscriptions (cursor_key, id) WHERE cursor_key IS NOT NULL;

CREATE TABLE triggers (
    id              TEXT    NOT NULL PRIMARY KEY,
    tenant          TEXT    NOT NULL,
    -- Empty for the tenant itself.
    subject         TEXT    NOT NULL,
    connector       TEXT    NOT NULL,
    type            TEXT    NOT NULL,
    -- Empty if the connector needs no account.
    user_identifier TEXT    NOT NULL,
    -- NULL for events of the gateway itself.
    subscription    TEXT    REFERENCES subscriptions (id),
    -- The sealed parameters, URLs, filters and fields.
    data_key        TEXT    NOT NULL REFERENCES data_keys (id),
    definition      BLOB    NOT NULL,
    -- A JSON object.
    labels          TEXT    NOT NULL,
    poll_s          INTEGER,
    -- 'pending', 'live', 'paused' or 'failed'.
    state           TEXT    NOT NULL,
    reason          TEXT,
    -- The number of its last event.
    sequence        INTEGER NOT NULL DEFAULT 0,
    last_event_at   INTEGER,
    -- Time of the first failed attempt since the last webhook that was received.
    failing_since   INTEGER,
    -- 1 once the receivers were told that it is degraded.
    told_degraded   INTEGER NOT NULL DEFAULT 0,
    created_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX triggers_of_tenant ON triggers (tenant, created_at, id);
CREATE INDEX triggers_of_time ON triggers (created_at, id);
CREATE INDEX triggers_of_subscription ON triggers (subscription) WHERE subscription IS NOT NULL;
CREATE INDEX triggers_sealed ON triggers (data_key, id);

CREATE TABLE trigger_events (
    -- Computed from the trigger and the id at the service.
    id          TEXT    NOT NULL PRIMARY KEY,
    trigger_id  TEXT    NOT NULL REFERENCES triggers (id) ON DELETE CASCADE,
    tenant      TEXT    NOT NULL,
    sequence    INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    -- 1 once its deliveries are stored.
    queued      INTEGER NOT NULL,
    -- The sealed body. NULL once it is no longer kept.
    data_key    TEXT    REFERENCES data_keys (id),
    body        BLOB,
    kept_until  INTEGER NOT NULL,
    -- Until then, the same occurrence makes no second event.
    expires_at  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX trigger_events_of_trigger ON trigger_events (trigger_id, sequence);
CREATE INDEX trigger_events_kept ON trigger_events (kept_until) WHERE data_key IS NOT NULL;
CREATE INDEX trigger_events_expired ON trigger_events (expires_at);
CREATE INDEX trigger_events_sealed ON trigger_events (data_key, id) WHERE data_key IS NOT NULL;

-- Notifications that other accounts may see too, for whom the service must be asked.
CREATE TABLE shared_notifications (
    id           TEXT    NOT NULL PRIMARY KEY,
    inbox        TEXT    NOT NULL REFERENCES inboxes (id) ON DELETE CASCADE,
    data_key     TEXT    NOT NULL REFERENCES data_keys (id),
    body         BLOB    NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    due_at       INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX shared_notifications_due ON shared_notifications (due_at);
CREATE INDEX shared_notifications_sealed ON shared_notifications (data_key, id);

-- Requests of services to the addresses of inboxes and subscriptions, without their bodies.
CREATE TABLE hook_requests (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    gateway    TEXT    NOT NULL,
    -- The id of the inbox or of the subscription. Empty if no one has the address.
    address    TEXT    NOT NULL,
    connector  TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    reason     TEXT,
    kind       TEXT,
    events     INTEGER NOT NULL,
    ms         INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    remote     TEXT    NOT NULL
) STRICT;
CREATE INDEX hook_requests_of_time ON hook_requests (at, number);
CREATE INDEX hook_requests_of_address ON hook_requests (address, at, number);

-- The id in the header `webhook-id`, if several deliveries share it, and the trigger whose events they are.
ALTER TABLE webhook_deliveries ADD COLUMN message_id TEXT;
ALTER TABLE webhook_deliveries ADD COLUMN trigger_id TEXT;
CREATE INDEX webhook_deliveries_of_trigger ON webhook_deliveries (trigger_id, status) WHERE trigger_id IS NOT NULL;
CREATE INDEX webhook_deliveries_of_message ON webhook_deliveries (message_id) WHERE message_id IS NOT NULL;

-- Changes of accounts that triggers of the gateway itself want to know of. The database notes them, so that no way to change an account can
-- forget it.
CREATE TABLE integration_changes (
    number          INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant          TEXT NOT NULL,
    subject         TEXT NOT NULL,
    connector       TEXT NOT NULL,
    user_identifier TEXT NOT NULL,
    -- 'integration_connected', 'integration_expired', 'integration_restored' or 'integration_deleted'.
    kind            TEXT NOT NULL
) STRICT;
CREATE TRIGGER integrations_noted_connected AFTER INSERT ON integrations WHEN EXISTS
    (SELECT 1 FROM triggers WHERE tenant = NEW.tenant AND connector = 'gateway')
BEGIN
    INSERT INTO integration_changes (tenant, subject, connector, user_identifier, kind)
        VALUES (NEW.tenant, NEW.subject, NEW.connector, NEW.user_identifier, 'integration_connected');
END;
CREATE TRIGGER integrations_noted_expired AFTER UPDATE OF status ON integrations WHEN NEW.status <> 'active' AND OLD.status = 'active' AND EXISTS
    (SELECT 1 FROM triggers WHERE tenant = NEW.tenant AND connector = 'gateway')
BEGIN
    INSERT INTO integration_changes (tenant, subject, connector, user_identifier, kind)
        VALUES (NEW.tenant, NEW.subject, NEW.connector, NEW.user_identifier, 'integration_expired');
END;
CREATE TRIGGER integrations_noted_restored AFTER UPDATE OF status ON integrations WHEN NEW.status = 'active' AND OLD.status <> 'active' AND EXISTS
    (SELECT 1 FROM triggers WHERE tenant = NEW.tenant AND connector = 'gateway')
BEGIN
    INSERT INTO integration_changes (tenant, subject, connector, user_identifier, kind)
        VALUES (NEW.tenant, NEW.subject, NEW.connector, NEW.user_identifier, 'integration_restored');
END;
CREATE TRIGGER integrations_noted_deleted AFTER DELETE ON integrations WHEN EXISTS
    (SELECT 1 FROM triggers WHERE tenant = OLD.tenant AND connector = 'gateway')
BEGIN
    INSERT INTO integration_changes (tenant, subject, connector, user_identifier, kind)
        VALUES (OLD.tenant, OLD.subject, OLD.connector, OLD.user_identifier, 'integration_deleted');
END;

-- Another account under the same name gets nothing of the former one: neither its notifications nor what its cursor leads to.
CREATE TRIGGER integrations_are_others AFTER UPDATE OF account_id, address ON integrations
    WHEN OLD.account_id IS NOT NULL AND (NEW.account_id IS NOT OLD.account_id OR NEW.address IS NOT OLD.address)
BEGIN
    UPDATE subscriptions SET is_identified = 0, route = NULL, cursor_key = NULL, cursor = NULL, standing = 'new', blocked = NULL, due_at = 0
        WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
END;

-- What waits for the user goes on once the user has connected the account again.
CREATE TRIGGER integrations_wake_subscriptions AFTER UPDATE OF status ON integrations WHEN NEW.status = 'active' AND OLD.status <> 'active'
BEGIN
    UPDATE subscriptions SET due_at = 0 WHERE blocked = 'user' AND tenant = NEW.tenant AND subject = NEW.subject
        AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
END;

-- Events count in what a tenant has stored.
CREATE TRIGGER trigger_events_stored AFTER INSERT ON trigger_events WHEN NEW.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (NEW.tenant, 0, 300 + coalesce(length(NEW.body), 0))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER trigger_events_freed AFTER DELETE ON trigger_events WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes) VALUES (OLD.tenant, 0, -(300 + coalesce(length(OLD.body), 0)))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER trigger_events_replaced AFTER UPDATE OF body ON trigger_events WHEN OLD.tenant <> '' BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        VALUES (OLD.tenant, 0, coalesce(length(NEW.body), 0) - coalesce(length(OLD.body), 0))
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
