-- Removes an account's line of a purchase.
-- KEYS account, standing, revised
-- ARGV hash, revision
-- Library standing.lua: standing_of
-- Prelude account-lines.lua: owner_away, is_newer, lines_without, write_lines
-- Answers dropped stale moved(account that it moved into) moving deleted(time)
local away = owner_away()
if away then return away end
if not is_newer() then return {'stale'} end
write_lines(lines_without())
return {'dropped'}
