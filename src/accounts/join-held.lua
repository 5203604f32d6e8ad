-- Adds the members of a guest's set or sorted set, or the fields of a guest's hash, to that of the account that the guest moved into.
-- Members and fields that the account has already stay.
-- KEYS held, standing
-- ARGV words (JSON: members; member, score …; or field, value …), kind (set, zset or hash)
-- Library standing.lua: standing_of
-- Answers joined account_deleted
if standing_of(standing) == 'deleted' then return {'account_deleted'} end
local list = cjson.decode(words)
if kind == 'set' then redis.call('SADD', held, unpack(list))
else
  for index = 1, #list, 2 do
    if kind == 'zset' then redis.call('ZADD', held, 'NX', list[index + 1], list[index])
    else redis.call('HSETNX', held, list[index], list[index + 1]) end
  end
end
return {'joined'}
