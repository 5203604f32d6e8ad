-- Functions for scripts that read or change purchases and the lines that accounts hold of them (model.ts, purchasesOf).
-- Needs due (a key) and now (an argument). Gives owner_of(), is_store_account(), has_ended(), drop_line(), put_line() and retire().
--
-- Only the purchase names its owner, so this script builds the keys of the owner's account, as accountKey() and movesKey() do.
local MOST_LINES = 10

local function account_of(owner) return '{' .. owner .. '}:account' end

-- The account id of the purchase's owner, after a move the id of the account that the owner moved into. nil: not claimed.
local function owner_of(purchase_key)
  local owner = redis.call('HGET', purchase_key, 'owner')
  if not owner then return nil end
  local note = redis.call('GET', '{' .. owner .. '}:moves')
  return note and string.match(note, '^>(.*)') or owner
end

local function is_store_account(owner) return redis.call('HEXISTS', account_of(owner), 'store') == 1 end

-- Whether the paid time has ended. Access may last longer: purchase-expiry.ts adds leeway for a renewal.
local function has_ended(purchase_key)
  local state, ends = unpack(redis.call('HMGET', purchase_key, 'state', 'expiresAt'))
  return state == 'expired' or (state ~= 'pending' and tonumber(ends) ~= nil and tonumber(ends) <= tonumber(now))
end

local function write_lines(owner, lines)
  if #lines == 0 then return redis.call('HDEL', account_of(owner), 'purchases') end
  redis.call('HSET', account_of(owner), 'purchases', table.concat(lines, '\n'))
end

local function lines_without(owner, purchase_hash)
  local lines = {}
  for line in string.gmatch(redis.call('HGET', account_of(owner), 'purchases') or '', '[^\n]+') do
    if string.match(line, '^%S+') ~= purchase_hash then lines[#lines + 1] = line end
  end
  return lines
end

local function drop_line(owner, purchase_hash) write_lines(owner, lines_without(owner, purchase_hash)) end

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

local function put_line(owner, purchase_key, purchase_hash)
  local lines = lines_without(owner, purchase_hash)
  local words = redis.call('HMGET', purchase_key, 'state', 'expiresAt', 'willRenew', 'checkedAt', 'productId')
  lines[#lines + 1] = purchase_hash .. ' ' .. table.concat(words, ' ')
  while #lines > MOST_LINES do table.remove(lines, least_worth(lines)) end
  write_lines(owner, lines)
end

-- Marks a purchase as replaced: it gives no access to any account that sends its token, even if it was never recorded before.
local function retire(purchase_key, purchase_hash, by, new_owner)
  local owner = owner_of(purchase_key)
  if owner then drop_line(owner, purchase_hash) end
  redis.call('HSET', purchase_key, 'owner', new_owner, 'retiredBy', by)
  redis.call('ZREM', due, purchase_hash)
end
