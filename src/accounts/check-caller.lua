-- Checks whether the caller may act for the account. The prologue does the check.
-- KEYS -
-- ARGV -
-- Answers signed_in
return {'signed_in'}
