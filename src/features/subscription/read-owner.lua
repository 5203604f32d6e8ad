-- Tells what kind of account owns a purchase.
-- KEYS account, moves
-- ARGV -
-- Answers guest store_account moved(account that it moved into) moving deleted
local record = redis.call('GETRANGE', moves, 0, 0)
if record == '>' then return {'moved', string.sub(redis.call('GET', moves), 2)} end
if record == '~' then return {'moving'} end
if record == '=' then return {'deleted'} end
return {redis.call('HEXISTS', account, 'store') == 1 and 'store_account' or 'guest'}
