-- Tells whether an account moved into another one, or is about to. prologue-check.lua describes the record.
-- KEYS moves
-- ARGV -
-- Answers stays(has a record 0|1) moving moved(account that it moved into)
local record = redis.call('GETRANGE', moves, 0, 0)
if record == '>' then return {'moved', string.sub(redis.call('GET', moves), 2)} end
if record == '~' then return {'moving'} end
return {'stays', record == '' and '0' or '1'}
