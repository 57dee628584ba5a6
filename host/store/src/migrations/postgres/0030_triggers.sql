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
    created_at       BIGINT NOT NULL,
    last_accepted_at BIGINT,
    last_rejected_at BIGINT,
    last_rejection   TEXT,
    UNIQUE (connector, inbox, tenant)
);

CREATE TABLE inbox_secrets (
    id         TEXT    NOT NULL PRIMARY KEY,
    inbox      TEXT    NOT NULL REFERENCES inboxes (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    data_key   TEXT    NOT NULL REFERENCES data_keys (id),
    secret     BYTEA   NOT NULL
);
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
    secret          BYTEA   NOT NULL,
    -- The sealed cursor. NULL before the first read.
    cursor_key      TEXT    REFERENCES data_keys (id),
    cursor          BYTEA,
    -- 'new', 'active' or 'none'.
    standing        TEXT    NOT NULL,
    -- The kinds that the service was asked for, as a JSON list.
    kinds           TEXT    NOT NULL,
    expires_at      BIGINT,
    renewed_at      BIGINT,
    -- The URL of this gateway that the service knows, up to the address.
    base            TEXT,
    -- Time of the next renewal.
    renew_at        BIGINT,
    last_push_at    BIGINT,
    last_read_at    BIGINT,
    -- Time of the next read.
    read_at         BIGINT,
    -- Renewals or reads that failed since the last one that succeeded, and the reason of the last failure.
    failed_renewals BIGINT NOT NULL DEFAULT 0,
    failed_reads    BIGINT NOT NULL DEFAULT 0,
    -- Reads in a row that have found nothing, since the last notification.
    empty_reads     BIGINT NOT NULL DEFAULT 0,
    reason          TEXT,
    -- 'user' while the user must connect the account again, 'final' once the service has refused for good.
    blocked         TEXT,
    -- Grows with each notification that calls for a read.
    rung            BIGINT NOT NULL DEFAULT 0,
    -- True while the service may prove that the address is ours.
    shakes_hands    BOOLEAN NOT NULL DEFAULT FALSE,
    -- False once another account is connected under the name, until the service has said whose it is.
    is_identified   BOOLEAN NOT NULL DEFAULT TRUE,
    -- Time of the next work on it.
    due_at          BIGINT NOT NULL,
    fence           BIGINT NOT NULL DEFAULT 0,
    leased_until    BIGINT,
    UNIQUE (tenant, subject, connector, user_identifier, covers)
);
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
    definition      BYTEA   NOT NULL,
    -- A JSON object.
    labels          TEXT    NOT NULL,
    poll_s          BIGINT,
    -- 'pending', 'live', 'paused' or 'failed'.
    state           TEXT    NOT NULL,
    reason          TEXT,
    -- The number of its last event.
    sequence        BIGINT NOT NULL DEFAULT 0,
    last_event_at   BIGINT,
    -- Time of the first failed attempt since the last webhook that was received.
    failing_since   BIGINT,
    -- True once the receivers were told that it is degraded.
    told_degraded   BOOLEAN NOT NULL DEFAULT FALSE,
    created_at      BIGINT NOT NULL
);
CREATE INDEX triggers_of_tenant ON triggers (tenant, created_at, id);
CREATE INDEX triggers_of_time ON triggers (created_at, id);
CREATE INDEX triggers_of_subscription ON triggers (subscription) WHERE subscription IS NOT NULL;
CREATE INDEX triggers_sealed ON triggers (data_key, id);

CREATE TABLE trigger_events (
    -- Computed from the trigger and the id at the service.
    id          TEXT    NOT NULL PRIMARY KEY,
    trigger_id  TEXT    NOT NULL REFERENCES triggers (id) ON DELETE CASCADE,
    tenant      TEXT    NOT NULL,
    sequence    BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    -- True once its deliveries are stored.
    queued      BOOLEAN NOT NULL,
    -- The sealed body. NULL once it is no longer kept.
    data_key    TEXT    REFERENCES data_keys (id),
    body        BYTEA,
    kept_until  BIGINT NOT NULL,
    -- Until then, the same occurrence makes no second event.
    expires_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX trigger_events_of_trigger ON trigger_events (trigger_id, sequence);
CREATE INDEX trigger_events_kept ON trigger_events (kept_until) WHERE data_key IS NOT NULL;
CREATE INDEX trigger_events_expired ON trigger_events (expires_at);
CREATE INDEX trigger_events_sealed ON trigger_events (data_key, id) WHERE data_key IS NOT NULL;

-- Notifications that other accounts may see too, for whom the service must be asked.
CREATE TABLE shared_notifications (
    id           TEXT    NOT NULL PRIMARY KEY,
    inbox        TEXT    NOT NULL REFERENCES inboxes (id) ON DELETE CASCADE,
    data_key     TEXT    NOT NULL REFERENCES data_keys (id),
    body         BYTEA   NOT NULL,
    attempts     BIGINT NOT NULL DEFAULT 0,
    due_at       BIGINT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX shared_notifications_due ON shared_notifications (due_at);
CREATE INDEX shared_notifications_sealed ON shared_notifications (data_key, id);

-- Requests of services to the addresses of inboxes and subscriptions, without their bodies.
CREATE TABLE hook_requests (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         BIGINT NOT NULL,
    gateway    TEXT    NOT NULL,
    -- The id of the inbox or of the subscription. Empty if no one has the address.
    address    TEXT    NOT NULL,
    connector  TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    reason     TEXT,
    kind       TEXT,
    events     BIGINT NOT NULL,
    ms         BIGINT NOT NULL,
    bytes      BIGINT NOT NULL,
    remote     TEXT    NOT NULL
);
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
    number          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant          TEXT NOT NULL,
    subject         TEXT NOT NULL,
    connector       TEXT NOT NULL,
    user_identifier TEXT NOT NULL,
    -- 'integration_connected', 'integration_expired', 'integration_restored' or 'integration_deleted'.
    kind            TEXT NOT NULL
);
-- Another account under the same name gets nothing of the former one: neither its notifications nor what its cursor leads to.
CREATE FUNCTION part_from_former_account() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.account_id IS NOT NULL
        AND (NEW.account_id IS DISTINCT FROM OLD.account_id OR NEW.address IS DISTINCT FROM OLD.address)
    THEN
        UPDATE subscriptions SET is_identified = FALSE, route = NULL, cursor_key = NULL, cursor = NULL, standing = 'new', blocked = NULL,
                due_at = 0
            WHERE tenant = NEW.tenant AND subject = NEW.subject AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER integrations_are_others AFTER UPDATE OF account_id, address ON integrations
    FOR EACH ROW EXECUTE FUNCTION part_from_former_account();

CREATE FUNCTION note_integration_change() RETURNS TRIGGER LANGUAGE plpgsql AS $$
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
    ELSIF NEW.status = 'active' AND OLD.status <> 'active' THEN
        what := 'integration_restored';
        -- What waits for the user goes on once the user has connected the account again.
        UPDATE subscriptions SET due_at = 0 WHERE blocked = 'user' AND tenant = NEW.tenant AND subject = NEW.subject
            AND connector = NEW.connector AND user_identifier = NEW.user_identifier;
    END IF;
    IF what IS NOT NULL AND EXISTS (SELECT 1 FROM triggers WHERE tenant = changed.tenant AND connector = 'gateway') THEN
        INSERT INTO integration_changes (tenant, subject, connector, user_identifier, kind)
            VALUES (changed.tenant, changed.subject, changed.connector, changed.user_identifier, what);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER integrations_noted AFTER INSERT OR DELETE OR UPDATE OF status ON integrations
    FOR EACH ROW EXECUTE FUNCTION note_integration_change();

-- Events count in what a tenant has stored.
CREATE FUNCTION count_trigger_events() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stored_bytes (tenant, part, bytes)
        SELECT tenant, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END * sum(300 + coalesce(octet_length(body), 0))
        FROM changed WHERE tenant <> '' GROUP BY tenant
        ON CONFLICT (tenant, part) DO UPDATE SET bytes = stored_bytes.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER trigger_events_stored AFTER INSERT ON trigger_events REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_trigger_events();
CREATE TRIGGER trigger_events_freed AFTER DELETE ON trigger_events REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_trigger_events();
CREATE FUNCTION recount_trigger_events() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_stored_bytes(OLD.tenant, coalesce(octet_length(NEW.body), 0) - coalesce(octet_length(OLD.body), 0));
    RETURN NULL;
END $$;
CREATE TRIGGER trigger_events_replaced AFTER UPDATE OF body ON trigger_events
    FOR EACH ROW EXECUTE FUNCTION recount_trigger_events();
