-- For the list of failed calls, while most calls succeed and are recorded too.
CREATE INDEX calls_of_failures ON calls (at, number) WHERE problem IS NOT NULL;
