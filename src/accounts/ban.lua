-- Bans an account, in place of a ban that it has. Its generation and its guests stay in the record behind the ban.
-- KEYS moves
-- ARGV account_id, ban_end (0: never), since, reason (base64url, or -)
-- Answers banned moving moved(account that it moved into) deleted
--
-- prologue-check.lua describes the record. A guest that is moving is not banned here: the account that it moves into would not be.
local record = redis.call('GET', moves) or ''
local first = string.sub(record, 1, 1)
if first == '=' then return {'deleted'} end
if first == '~' then return {'moving'} end
if first == '>' then return {'moved', string.sub(record, 2)} end
redis.call('SET', moves, string.format('!%s %s %s\n', ban_end, since, reason) .. string.gsub(record, '^![^\n]*\n', ''))
-- Every process subscribes to `moves` and takes the caller from the account's room connections.
announce('moves', account_id)
return {'banned'}
