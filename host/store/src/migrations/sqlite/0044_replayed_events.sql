-- 1 once a caller has requested that the event is sent once more. Its webhooks may wait until then, and say so.
ALTER TABLE trigger_events ADD COLUMN is_replayed INTEGER NOT NULL DEFAULT 0;
