-- Deletes what is left of a deleted account in its slot. At the end only the tombstone stays.
-- KEYS moves
-- ARGV names (of keys, separated by blanks), last_names, is_last
-- Answers erased closed not_deleted
--
-- The keys of `last_names` tell where else the account may have something. They go with the last call. `closed` comes once: two
-- processes may erase an account at a time, and the deletion counts once.
local at, behind = string.match(redis.call('GETRANGE', moves, 0, 20), '^(=%d+)(.?)')
if not at then return {'not_deleted'} end
local tag = string.match(moves, '^{.-}')
for name in string.gmatch(names, '%S+') do redis.call('UNLINK', tag .. ':' .. name) end
if is_last ~= '1' then return {'erased'} end
for name in string.gmatch(last_names, '%S+') do redis.call('UNLINK', tag .. ':' .. name) end
redis.call('SET', moves, at)
return {behind == '' and 'erased' or 'closed'}
