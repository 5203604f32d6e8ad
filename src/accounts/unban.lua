-- Ends the ban of an account.
-- KEYS standing
-- ARGV -
-- Library standing.lua: standing_of
-- Library standing-changes.lua: unban
-- Answers unbanned not_banned moving moved(account that it moved into) deleted(time)
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
return {unban(standing) and 'unbanned' or 'not_banned'}
