-- Whether the caller's session still stands; the session check in front of every caller's script does the asking.
-- KEYS -
-- ARGV -
-- Answers signed_in
return {'signed_in'}
