-- For the list of links of all tenants, of one tenant and of one person. Those that expire last are first.
CREATE INDEX connect_links_listed_of_tenant ON connect_links (tenant, expires_at, id);
CREATE INDEX connect_links_of_subject ON connect_links (subject, expires_at, id);
