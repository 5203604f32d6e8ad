-- Checks the caller for a script that runs in another slot, and reads the facts of the account that the script needs.
-- KEYS account, index
-- ARGV member
-- Prologue prologue-check.lua: moved_in, generation
-- Answers checked(moved_in, generation, is open 0|1, is proven 0|1)
--
-- `index` is a set of the account that has to contain `member` before the script writes. If `member` is '', the script needs no entry in a
-- set.
local is_open = redis.call('EXISTS', account) == 1 and (member == '' or redis.call('SISMEMBER', index, member) == 1)
local is_proven = redis.call('HEXISTS', account, 'installVerifiedAt') == 1
return {'checked', moved_in, generation, is_open and '1' or '0', is_proven and '1' or '0'}
