-- Deletes an account: from now on nothing acts for it. What it had is erased later.
-- KEYS standing
-- ARGV at, by (owner, operator, backup, or the account that a guest moved into)
-- Library standing.lua: standing_of
-- Library standing-changes.lua: mark_deleted
-- Library account-events.lua: tell_event
-- Answers marked account_deleted account_banned(end, 0 without one) moving sign_in_required other
--
-- A banned account does not delete itself: a new account of the same user would follow. An operator deletes it. After a restore, `backup`
-- deletes an account in any state. The deletion of an account also deletes the guests that moved into it.
local state, detail = standing_of(standing)
if state == 'deleted' then return {'account_deleted'} end
if state == 'moving' then return {'moving'} end
local is_of_guest = by ~= 'owner' and by ~= 'operator' and by ~= 'backup'
if state == 'moved' and (by == 'owner' or by == 'operator') then return {'sign_in_required'} end
-- An open guest is one whose move Redis lost. What it did since is nowhere else.
if is_of_guest and not (state == 'moved' and detail == by) then return {'other'} end
if state == 'banned' and by == 'owner' then return {'account_banned', detail} end
mark_deleted(standing, at)
tell_event(string.match(standing, '^{(.-)}'), 'd', '')
return {'marked'}
