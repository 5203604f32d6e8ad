-- Adds the coins of a correction or grant, once, to the sums of its operator and its accounts, unless a sum would be too high. A sum is a
-- text in a day's hash: `minute=coins minute=coins`. Coins that an operator changed without a second person are added to `alone` sums too.
-- KEYS today, yesterday
-- ARGV operator, correction (a hash), coins, shares (JSON: [[account, coins], …]), day_most, alone_most ('' : any), minute, mode, kept_seconds
-- Answers counted known full second(coins of the day, coins alone, highest of an account alone)
--
-- mode `ask` only says what `count` would do. `back` subtracts coins that were not changed. The hashes of the days must be those of the
-- count.
coins = tonumber(coins)
local by_person = alone_most ~= ''
local done = 'of ' .. operator .. ' ' .. correction
local list = by_person and cjson.decode(shares) or {}

local function sum_in(key, field, after)
  local sum = 0
  for at, counted in string.gmatch(redis.call('HGET', key, field) or '', '(%d+)=(%d+)') do
    if tonumber(at) > after then sum = sum + counted end
  end
  return sum
end

local function alone(subject)
  local field, after = 'alone ' .. subject, minute - 1440
  return sum_in(today, field, after) + sum_in(yesterday, field, after)
end

local function add(field, at, more)
  local text, found = redis.call('HGET', today, field) or '', false
  text = string.gsub(text, '(%d+)=(%d+)', function(then_at, had)
    if then_at ~= at then return nil end
    found = true
    return string.format('%s=%.0f', at, math.max(0, had + more))
  end)
  if not found and more > 0 then text = text .. string.format(' %s=%.0f', at, more) end
  redis.call('HSET', today, field, text)
end

if mode == 'back' then
  local at, was_alone = string.match(redis.call('HGET', today, done) or '', '^(%d+) (%d)$')
  if not at then return {'known', '0', '0', '0'} end
  add(operator, at, -coins)
  if was_alone == '1' then
    add('alone ' .. operator, at, -coins)
    for _, share in ipairs(cjson.decode(shares)) do add('alone ' .. share[1], at, -share[2]) end
  end
  -- A repetition for the rest counts the rest.
  redis.call('HDEL', today, done)
  return {'counted', '0', '0', '0'}
end

local of_day, own, highest, word = sum_in(today, operator, -1), 0, 0, 'counted'
if by_person then
  own = alone(operator)
  local sums = {}
  for _, share in ipairs(list) do
    sums[share[1]] = (sums[share[1]] or alone(share[1])) + share[2]
    highest = math.max(highest, sums[share[1]])
  end
  if own + coins > tonumber(alone_most) or highest > tonumber(alone_most) then word = 'second' end
end
if day_most ~= '' and of_day + coins > tonumber(day_most) then word = 'full' end
if redis.call('HEXISTS', today, done) == 1 or redis.call('HEXISTS', yesterday, done) == 1 then word = 'known' end
local answer = {word, string.format('%.0f', of_day), string.format('%.0f', own), string.format('%.0f', highest)}
if word ~= 'counted' or mode == 'ask' then return answer end

add(operator, minute, coins)
if by_person then
  add('alone ' .. operator, minute, coins)
  for _, share in ipairs(list) do add('alone ' .. share[1], minute, share[2]) end
end
redis.call('HSET', today, done, minute .. (by_person and ' 1' or ' 0'))
redis.call('EXPIRE', today, kept_seconds)
return answer
