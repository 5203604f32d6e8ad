-- Functions for scripts that change the purchase lines of an account (accounts/purchase-lines.ts). Needs account, standing and revised (keys),
-- hash and revision (arguments), and standing_of() of standing.lua. Gives owner_away(), is_newer(), lines_without(), told_of() and
-- write_lines().

-- Returns the answer of the script if the account moved, is moving or was deleted. The account's lines are then in another account, or
-- deleted. Returns nil for any other account.
local function owner_away()
  local state, detail = standing_of(standing)
  if state ~= 'open' and state ~= 'banned' then return {state, detail} end
end

-- Whether the revision is not older than the last one that changed the account's line of this purchase. Two processes may write this line,
-- and the slower process may have an older revision. KEPT_SECONDS is longer than a process takes.
local KEPT_SECONDS = 3600
local function is_newer()
  local known = redis.call('GET', revised)
  if known and tonumber(known) > tonumber(revision) then return false end
  redis.call('SET', revised, revision, 'EX', KEPT_SECONDS)
  return true
end

-- Returns the account's lines of other purchases, and its line of this purchase (nil if it has none).
local function lines_without()
  local lines, present = {}, nil
  for line in string.gmatch(redis.call('HGET', account, 'purchases') or '', '[^\n]+') do
    if string.match(line, '<line: hash>') == hash then present = line else lines[#lines + 1] = line end
  end
  return lines, present
end

-- Returns the data of the event about a line, or nil if the line cannot be read.
local function told_of(line)
  local state, ends, product = string.match(line, '<line: state, ends, product>')
  return state and string.format('<told>', state, ends, product)
end

local function write_lines(lines)
  if #lines == 0 then redis.call('HDEL', account, 'purchases')
  else redis.call('HSET', account, 'purchases', table.concat(lines, '\n')) end
end
