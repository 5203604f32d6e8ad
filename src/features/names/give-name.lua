-- Gives an account a name that replaces the name that the player chose. With an empty `name` it removes the given name.
-- KEYS account, standing
-- ARGV name (or ''), given_at, by, reason
-- Library standing.lua: standing_of
-- Answers changed(whether it had one 0|1) moving moved(account that it moved into) deleted(time) not_found
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
if redis.call('EXISTS', account) == 0 then return {'not_found'} end
local had = (redis.call('HGET', account, 'nameGiven') or '') ~= '' and '1' or '0'
if name == '' then
  redis.call('HDEL', account, 'nameGivenAt', 'nameGiven', 'nameGivenBy', 'nameGivenReason')
else
  redis.call('HSET', account, 'nameGivenAt', given_at, 'nameGiven', name, 'nameGivenBy', by, 'nameGivenReason', reason)
end
return {'changed', had}
