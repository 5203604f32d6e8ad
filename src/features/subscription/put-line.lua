-- Writes an account's line of a purchase, and lists the purchase among those of the account. An account has ten lines at most, and lists all
-- its purchases: its deletion has to find them.
-- KEYS account, moves, revised, owned
-- ARGV hash, revision, words ('': another purchase replaced it, so it has no line), now
-- Prelude account-lines.lua: owner_away, is_newer, lines_without, write_lines
-- Answers put stale moved(account that it moved into) moving deleted no_account
local MOST_LINES = 10

local away = owner_away()
if away then return away end
if redis.call('EXISTS', account) == 0 then return {'no_account'} end
if not is_newer() then return {'stale'} end

-- The place of the line to drop: the purchase that ended first, else one without an end, else the one that will end first.
local function least_worth(lines)
  local least, least_end
  for place, line in ipairs(lines) do
    local state, ends = string.match(line, '^%S+ (%S+) (%S+)')
    local is_ended = state == 'expired' or ((state == 'active' or state == 'grace' or state == 'canceled') and tonumber(ends) <= tonumber(now))
    ends = (is_ended and 0 or 1e15) + (tonumber(ends) or 0)
    if not least or ends < least_end then least, least_end = place, ends end
  end
  return least
end

redis.call('SADD', owned, hash)
local lines = lines_without()
if words ~= '' then lines[#lines + 1] = hash .. ' ' .. words end
while #lines > MOST_LINES do table.remove(lines, least_worth(lines)) end
write_lines(lines)
return {'put'}
