-- Counts what an account has, for its owner, who may merge it into another account.
-- KEYS account, ledger, standing
-- ARGV -
-- Library standing.lua: standing_of, count_guests
-- Library sign-ins.lua: sign_ins_of
-- Answers holds(exists 0|1, balance, entries of the ledger, boards, purchases of coins, guests, sign-in id, entry …)
local tag = string.match(account, '^{.-}')
local last = redis.call('LINDEX', ledger, -1)
local _, _, _, moved_in = standing_of(standing)
local function whole(number) return string.format('%d', number) end
return {'holds', whole(redis.call('EXISTS', account)), last and string.match(last, '<entry: balance>') or '0', whole(redis.call('LLEN', ledger)),
  whole(redis.call('SCARD', tag .. ':boards')), whole(redis.call('ZCARD', tag .. ':product-purchases')), whole((count_guests(moved_in))),
  unpack(sign_ins_of(tag))}
