-- Tells whether an account is open, banned, deleted, moved into another one, or about to.
-- KEYS standing
-- ARGV -
-- Library standing.lua: standing_of
-- Answers open(is recorded 0|1) banned(is recorded 0|1, end, 0 without one) moving moved(account that it moved into) deleted(time)
--
-- Recorded: guests moved into it, or its sessions were ended together.
local state, detail, generation, moved_in = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
return {state, (generation ~= '0' or moved_in ~= '') and '1' or '0', detail}
