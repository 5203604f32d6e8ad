-- Deletes the remaining keys of a deleted account in the account's slot. After the last call only the account's tombstone stays.
-- KEYS standing
-- ARGV names (of keys, separated by blanks), last_names, is_last
-- Library standing.lua: standing_of
-- Library standing-changes.lua: is_erased, keep_tombstone
-- Answers erased closed not_deleted
--
-- The keys of `last_names` say in which other slots data of the account may lie, so only the last call deletes these keys. If two processes
-- erase an account at the same time, only one call answers `closed`, so that the metrics count the deletion once.
local state, at = standing_of(standing)
if state ~= 'deleted' then return {'not_deleted'} end
local tag = string.match(standing, '^{.-}')
for name in string.gmatch(names, '%S+') do redis.call('UNLINK', tag .. ':' .. name) end
if is_last ~= '1' then return {'erased'} end
for name in string.gmatch(last_names, '%S+') do redis.call('UNLINK', tag .. ':' .. name) end
if is_erased(standing) then return {'erased'} end
keep_tombstone(standing, at)
return {'closed'}
