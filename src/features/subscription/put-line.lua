-- Writes an account's line of a purchase, and adds the purchase to the account's set. An account has ten lines at most, and lists all its
-- purchases: its deletion has to find them.
-- KEYS account, standing, revised, owned
-- ARGV hash, revision, words ('': another purchase replaced it, so it has no line), now
-- Prelude account-lines.lua: owner_away, is_newer, lines_without, write_lines, told_of, told_by
-- Library standing.lua: standing_of
-- Library bounded-lines.lua: bound_lines
-- Library account-events.lua: tell_event
-- Answers put(created 0|1) stale moved(account that it moved into) moving deleted(time)
local away = owner_away()
if away then return away end
if not is_newer() then return {'stale'} end

-- A purchase may name an account that has made no write yet.
local id = string.match(account, '^{(.-)}')
local created = redis.call('HSETNX', account, 'createdAt', now)
if created == 1 then tell_event(id, 'n', '') end
redis.call('SADD', owned, hash)
local before, after = told_by(), words ~= '' and told_of(words)
local lines = lines_without()
if words ~= '' then lines[#lines + 1] = hash .. ' ' .. words end
write_lines(bound_lines(lines, tonumber(now), owned))
-- A check that finds nothing new emits no event, nor does a purchase that another purchase has replaced.
if after and after ~= before then tell_event(id, 's', after) end
return {'put', tostring(created)}
