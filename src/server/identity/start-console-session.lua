-- Starts a session of the console. Removes those sessions of the same server key that have ended, and its oldest session if there are too
-- many.
-- KEYS sessions
-- ARGV id, ends_at, confirmed_until, asked ('' : of a key), most
-- Answers started
local open = {}
local fields = redis.call('HGETALL', sessions)
for place = 1, #fields, 2 do
  local ends = tonumber(string.match(fields[place + 1], '^(%d+) ')) or 0
  if ends <= tonumber(now) then
    redis.call('HDEL', sessions, fields[place])
  else
    open[#open + 1] = {ends, fields[place]}
  end
end
table.sort(open, function(one, other) return one[1] < other[1] end)
for place = 1, #open - tonumber(most) + 1 do redis.call('HDEL', sessions, open[place][2]) end
redis.call('HSET', sessions, id, ends_at .. ' ' .. confirmed_until .. asked)
redis.call('PEXPIRE', sessions, tonumber(ends_at) - tonumber(now))
return {'started'}
