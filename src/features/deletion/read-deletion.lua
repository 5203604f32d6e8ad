-- Tells whether a deleted account still has to be erased (`left`), or is erased (`closed`).
-- KEYS standing
-- ARGV -
-- Library standing.lua: standing_of
-- Library standing-changes.lua: is_erased
-- Answers left(time, guests that moved in) closed none
local state, at, _, moved_in = standing_of(standing)
if state ~= 'deleted' then return {'none'} end
if is_erased(standing) then return {'closed'} end
return {'left', at, moved_in}
