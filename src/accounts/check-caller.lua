-- Tells whether the caller may act for the account. The prologue decides.
-- KEYS -
-- ARGV -
-- Answers signed_in
return {'signed_in'}
