-- Converts entries of a board from the layout of version 3 of the data to the layout of version 4.
-- KEYS scores, players, secret, arrivals
-- ARGV seed, accounts (account ids of fields in the old layout, separated by blanks)
-- Library board.lua: id_of, place_text, put
-- Answers upgraded
--
-- In version 3 the hash `players` had the account's id as a field, with the value '<arrival><at><player id><name>', and `scores` had the
-- same text as a member. The lengths of arrival, time and player id were 12, 9 and 12 characters. `arrival` was a counter, or on descending
-- boards 999999999999 minus the counter. `at` was the time in milliseconds since 1970, in base 36. The new arrival is this time followed by
-- the last digit of the counter, which keeps the order of scores that arrived in the same millisecond. Each player gets a new player id.
local HIGHEST_ARRIVAL = 999999999999
local secret_text = redis.call('GET', secret)
if not secret_text then
  secret_text = redis.sha1hex(seed .. secret)
  redis.call('SET', secret, secret_text)
end
local newest = tonumber(redis.call('GET', arrivals) or 0)
for account_id in string.gmatch(accounts, '%S+') do
  local old = redis.call('HGET', players, account_id)
  if old then
    local score = redis.call('ZSCORE', scores, old)
    -- A damaged entry is kept, and its time becomes a time in 1970. The audit of the older version reports damaged entries.
    local arrival, at = tonumber(string.sub(old, 1, 12)) or HIGHEST_ARRIVAL, tonumber(string.sub(old, 13, 21), 36) or 0
    local is_ascending = arrival <= HIGHEST_ARRIVAL / 2
    if not is_ascending then arrival = HIGHEST_ARRIVAL - arrival end
    local number = at * 10 + arrival % 10
    newest = math.max(newest, number)
    local place = place_text(number, is_ascending)
    redis.call('ZREM', scores, old)
    redis.call('HDEL', players, account_id)
    local id, name = id_of(secret_text, account_id), string.sub(old, 34)
    if score then put(scores, players, account_id, id, place, name, score)
    else redis.call('HSET', players, id, account_id .. place .. name) end
  end
end
redis.call('SET', arrivals, string.format('%.0f', newest))
return {'upgraded'}
