-- The migration for SQLite has the same table and explains it.
CREATE TABLE inbox_rejections (
    inbox    TEXT   NOT NULL,
    period   BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    PRIMARY KEY (inbox, period)
);
INSERT INTO inbox_rejections (inbox, period, requests)
    SELECT address, at / 600000, count(*) FROM hook_requests
    WHERE outcome = 'rejected' AND address IN (SELECT id FROM inboxes) GROUP BY address, at / 600000;
CREATE INDEX hook_requests_rejected ON hook_requests (address, number) WHERE outcome = 'rejected';
