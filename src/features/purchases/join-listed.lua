-- Adds purchases of a moved guest to those of the account.
-- KEYS listed, standing
-- ARGV words (JSON: time, purchase …)
-- Library standing.lua: standing_of
-- Answers joined account_deleted
if standing_of(standing) == 'deleted' then return {'account_deleted'} end
redis.call('ZADD', listed, 'NX', unpack(cjson.decode(words)))
return {'joined'}
