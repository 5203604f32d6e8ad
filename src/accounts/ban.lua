-- Bans an account, and replaces an earlier ban. The account keeps the generation of its sessions and its guests.
-- KEYS standing
-- ARGV ban_end (0: never), since, reason (base64url, or -)
-- Library standing.lua: standing_of
-- Library standing-changes.lua: ban
-- Library account-events.lua: tell_event
-- Answers banned moving moved(account that it moved into) deleted(time)
--
-- A guest that is moving cannot be banned, because the ban would not reach the account that the guest moves into.
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
ban(standing, ban_end, since, reason)
tell_event(string.match(standing, '^{(.-)}'), 'b', ban_end)
return {'banned'}
