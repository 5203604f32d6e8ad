-- Reads whether an account is open, banned, deleted, moving into another account, or moved.
-- KEYS standing
-- ARGV -
-- Library standing.lua: standing_of
-- Answers open banned(end, 0 without one) moving moved(account that it moved into) deleted(time)
local state, detail = standing_of(standing)
return {state, detail}
