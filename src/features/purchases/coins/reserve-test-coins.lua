-- Reserves the coins of a test purchase for its owner, within the bounds of a UTC day. The reservation of a purchase stays until the day
-- ends, so a repeated call reserves nothing more. If a process dies before it records the purchase, the reserved coins are lost for that
-- day only.
-- KEYS day
-- ARGV purchase, owner, guests (ids of accounts, separated by blanks), coins, most (of an account), most_in_all, kept_ms
-- Answers reserved(is repeated 0|1) account_full(coins so far) all_full(coins so far)
local held = owner .. ' ' .. purchase
if redis.call('HEXISTS', day, held) == 1 then return {'reserved', '1'} end
local used = tonumber(redis.call('HGET', day, owner) or '0')
for guest in string.gmatch(guests, '%S+') do used = used + (redis.call('HGET', day, guest) or 0) end
if used + coins > tonumber(most) then return {'account_full', string.format('%d', used)} end
local in_all = tonumber(redis.call('HGET', day, 'all') or '0')
if in_all + coins > tonumber(most_in_all) then return {'all_full', string.format('%d', in_all)} end

-- No line after this one refuses the reservation.
redis.call('HSET', day, held, coins)
redis.call('HINCRBY', day, owner, coins)
redis.call('HINCRBY', day, 'all', coins)
redis.call('PEXPIRE', day, kept_ms)
return {'reserved', '0'}
