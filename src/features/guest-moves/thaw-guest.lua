-- After a move was refused or became void, thaws its guest, if the guest is still frozen for this move.
-- KEYS standing
-- ARGV move_id
-- Library standing-changes.lua: is_frozen, thaw
-- Answers thawed gone
if not is_frozen(standing, move_id) then return {'gone'} end
thaw(standing)
return {'thawed'}
