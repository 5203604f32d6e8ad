-- Adds the purchases of a guest that moved to the list of the account into which it moved.
-- KEYS listed, standing
-- ARGV words (JSON: time, purchase …)
-- Library standing.lua: standing_of
-- Answers joined account_deleted
if standing_of(standing) == 'deleted' then return {'account_deleted'} end
redis.call('ZADD', listed, 'NX', unpack(cjson.decode(words)))
return {'joined'}
