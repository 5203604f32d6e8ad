-- Ends the ban of an account, and gives it the record back that it had.
-- KEYS moves
-- ARGV -
-- Answers unbanned not_banned moving moved(account that it moved into) deleted
local record = redis.call('GET', moves) or ''
local first = string.sub(record, 1, 1)
if first == '=' then return {'deleted'} end
if first == '~' then return {'moving'} end
if first == '>' then return {'moved', string.sub(record, 2)} end
local before = string.match(record, '^![^\n]*\n(.*)$')
if not before then return {'not_banned'} end
if before == '' then redis.call('DEL', moves) else redis.call('SET', moves, before) end
return {'unbanned'}
