-- Takes the place of prologue-check.lua in a script that an operator runs: refuses no account, so that an operator can look at one that
-- is banned or moving. prologue-check.lua describes the record.
-- KEYS moves, signed_out
-- ARGV -
-- Answers -
local record = redis.call('GET', moves) or ''
local first = string.sub(record, 1, 1)
local generation, moved_in = '0', ''
if first ~= '>' and first ~= '=' then
  moved_in = string.match(record, '^~[^\n]*\n(.*)$') or record
  moved_in = string.match(moved_in, '^![^\n]*\n(.*)$') or moved_in
  local number, behind = string.match(moved_in, '^#(%d+)\n(.*)$')
  if number then generation, moved_in = number, behind end
end
