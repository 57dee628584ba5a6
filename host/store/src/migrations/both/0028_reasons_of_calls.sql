-- What a call ended with: the detail of the problem, and a JSON list of the pointers to what is not valid, without the values.
ALTER TABLE calls ADD COLUMN detail TEXT;
ALTER TABLE calls ADD COLUMN pointers TEXT;
-- The account of the call, as its user named it.
ALTER TABLE calls ADD COLUMN user_identifier TEXT;
