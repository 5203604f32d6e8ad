-- Whether the caller may act for the account: the caller check in front of every caller's script decides.
-- KEYS -
-- ARGV -
-- Answers signed_in
return {'signed_in'}
