-- Deletes what is left of a deleted account beside its ledgers. At the end only the tombstone stays.
-- KEYS account, ledger, moves
-- ARGV names (of further keys, separated by blanks), last_names, is_last
-- Library ledger.lua: of_account
-- Answers erased closed not_deleted
--
-- `last_names` are the sets that tell where else the account may have something. They go with the last call. `closed` comes once: two
-- processes may erase an account at a time, and the deletion counts once.
local at, behind = string.match(redis.call('GETRANGE', moves, 0, 20), '^(=%d+)(.?)')
if not at then return {'not_deleted'} end
redis.call('UNLINK', account)
for name in string.gmatch(names, '%S+') do redis.call('UNLINK', of_account(ledger, name)) end
if is_last ~= '1' then return {'erased'} end
for name in string.gmatch(last_names, '%S+') do redis.call('UNLINK', of_account(ledger, name)) end
redis.call('SET', moves, at)
return {behind == '' and 'erased' or 'closed'}
