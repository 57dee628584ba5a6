-- Of the requests of services that were rejected, each address keeps only the last ones, so that no flood fills the database. Those at
-- inboxes are counted here.
CREATE TABLE inbox_rejections (
    inbox    TEXT    NOT NULL,
    -- Ten minutes, counted from 1970-01-01.
    period   INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (inbox, period)
) STRICT, WITHOUT ROWID;
INSERT INTO inbox_rejections (inbox, period, requests)
    SELECT address, at / 600000, count(*) FROM hook_requests
    WHERE outcome = 'rejected' AND address IN (SELECT id FROM inboxes) GROUP BY address, at / 600000;
CREATE INDEX hook_requests_rejected ON hook_requests (address, number) WHERE outcome = 'rejected';
