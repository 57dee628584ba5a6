-- That a trigger has ended is told once, also after its receivers were told that it is degraded.
ALTER TABLE triggers ADD COLUMN told_disabled INTEGER NOT NULL DEFAULT 0;
UPDATE triggers SET told_disabled = told_degraded WHERE state = 'failed';
