-- Reads the balance that the deletion of an account would delete.
-- KEYS account, ledger
-- ARGV -
-- Prologue prologue-check.lua
-- Answers account(exists 0|1, balance, below 0 for a debt)
local last = redis.call('LINDEX', ledger, -1)
return {'account', redis.call('EXISTS', account) == 1 and '1' or '0', last and string.match(last, '<entry: balance>') or '0'}
