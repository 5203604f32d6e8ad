-- Gives an account access until a time, or takes given access back.
-- KEYS account, standing
-- ARGV ends_at ('': take it back), given_at, by, reason
-- Library standing.lua: standing_of
-- Answers changed(end of the access given before, or '') moving moved(account that it moved into) deleted(time) not_found
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
if redis.call('EXISTS', account) == 0 then return {'not_found'} end
local before = redis.call('HGET', account, 'giftEndsAt') or ''
if ends_at == '' then
  redis.call('HDEL', account, 'giftEndsAt', 'giftGivenAt', 'giftBy', 'giftReason')
else
  redis.call('HSET', account, 'giftEndsAt', ends_at, 'giftGivenAt', given_at, 'giftBy', by, 'giftReason', reason)
end
return {'changed', before}
