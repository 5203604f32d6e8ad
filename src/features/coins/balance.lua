-- Reads the balance, which the last ledger entry holds.
-- KEYS ledger
-- ARGV -
-- Prologue prologue-check.lua
-- Answers balance(coins, below 0 for a debt)
local last = redis.call('LINDEX', ledger, -1)
return {'balance', last and string.match(last, '<entry: balance>') or '0'}
