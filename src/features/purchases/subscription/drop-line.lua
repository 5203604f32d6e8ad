-- Removes an account's line of a purchase.
-- KEYS account, standing, revised
-- ARGV hash, revision
-- Library standing.lua: standing_of
-- Library account-events.lua: tell_event
-- Prelude account-lines.lua: owner_away, is_newer, lines_without, write_lines
-- Answers dropped stale moved(account that it moved into) moving deleted(time)
local away = owner_away()
if away then return away end
if not is_newer() then return {'stale'} end
local lines, before = lines_without()
if before then
  local product = string.match(before, '<line: product>')
  if product then tell_event(string.match(account, '^{(.-)}'), 's', string.format('<told>', 'none', '-', product)) end
end
write_lines(lines)
return {'dropped'}
