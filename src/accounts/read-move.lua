-- Tells whether an account is open, banned, deleted, moved into another one, or about to. prologue-check.lua describes the record.
-- KEYS moves
-- ARGV -
-- Answers stays(end of its ban: 0 without one, '' if it is not banned) moving moved(account that it moved into) deleted
local record = redis.call('GETRANGE', moves, 0, 0)
if record == '>' then return {'moved', string.sub(redis.call('GET', moves), 2)} end
if record == '~' then return {'moving'} end
if record == '=' then return {'deleted'} end
if record ~= '!' then return {'stays', ''} end
local ban_end = string.match(redis.call('GET', moves), '^!(%d+)')
local is_banned = ban_end == '0' or tonumber(now) < tonumber(ban_end)
return {'stays', is_banned and ban_end or ''}
