-- Removes an account's line of a purchase.
-- KEYS account, standing, revised
-- ARGV hash, revision
-- Library standing.lua: standing_of
-- Library account-events.lua: tell_event
-- Prelude account-lines.lua: owner_away, is_newer, lines_without, write_lines, told_by
-- Answers dropped stale moved(account that it moved into) moving deleted(time)
local away = owner_away()
if away then return away end
if not is_newer() then return {'stale'} end
local before = told_by()
if before then tell_event(string.match(account, '^{(.-)}'), 's', (string.gsub(before, '^%S+ %S+', 'none -'))) end
write_lines(lines_without())
return {'dropped'}
