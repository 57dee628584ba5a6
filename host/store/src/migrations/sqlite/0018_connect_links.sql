-- Links to the page on which an end user connects accounts.
CREATE TABLE connect_links (
    id              TEXT   NOT NULL PRIMARY KEY,
    -- SHA-256 of the secret part of the URL.
    hash            BLOB  NOT NULL UNIQUE,
    tenant          TEXT   NOT NULL,
    -- Empty if the accounts belong to the tenant itself.
    subject         TEXT   NOT NULL,
    -- Identifiers, separated by spaces.
    connectors      TEXT   NOT NULL,
    user_identifier TEXT,
    callback_url    TEXT,
    -- A JSON object.
    labels          TEXT,
    expires_at      INTEGER NOT NULL,
    -- SHA-256 of the secret of the browser that has the link. NULL until a browser has sent the form of the page.
    browser         BLOB,
    -- 'done' or 'deleted'.
    ended           TEXT
) STRICT;
CREATE INDEX connect_links_of_tenant ON connect_links (tenant, expires_at) WHERE ended IS NULL;
CREATE INDEX connect_links_expired ON connect_links (expires_at);

-- The integrations that were connected by a link.
CREATE TABLE connect_link_accounts (
    link            TEXT NOT NULL REFERENCES connect_links (id) ON DELETE CASCADE,
    connector       TEXT NOT NULL,
    user_identifier TEXT NOT NULL,
    PRIMARY KEY (link, connector)
) STRICT;

-- The link whose page began an authorization. NULL if an application began it.
ALTER TABLE authorizations ADD COLUMN connect_link TEXT;
