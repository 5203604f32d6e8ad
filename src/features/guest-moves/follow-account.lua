-- After the account that a guest moved into has itself moved into another account, makes the guest point directly to that other account.
-- KEYS standing
-- ARGV from (the account that the guest moved into), to
-- Library standing.lua: standing_of
-- Library standing-changes.lua: mark_moved
-- Answers followed moving other
local state, target = standing_of(standing)
if state == 'moving' then return {'moving'} end
if state ~= 'moved' or target ~= from then return {'other'} end
mark_moved(standing, to)
return {'followed'}
