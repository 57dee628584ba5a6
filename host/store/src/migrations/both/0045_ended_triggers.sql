-- Triggers on events of the gateway itself have no subscription, whose step would tell their receivers that they have ended. Each turn looks for
-- them, and must not look at all triggers.
CREATE INDEX triggers_ended_untold ON triggers (id) WHERE subscription IS NULL AND state = 'failed' AND NOT told_disabled;
