-- For the steps of a guest's move. Defines is_frozen().

-- Whether the guest of this move record is frozen for this move. Every step on the guest's side asks it: a helper may come late,
-- when the guest has thawed, is frozen for another move, or has moved.
local function is_frozen(moves, move_id)
  local begin = '~' .. move_id .. ' '
  return redis.call('GETRANGE', moves, 0, #begin - 1) == begin
end
