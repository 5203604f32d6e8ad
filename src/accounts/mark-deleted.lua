-- Marks an account as deleted: from now on no call may act for the account. Its data is erased later.
-- KEYS standing
-- ARGV at, by (owner, operator, backup, or the account that a guest moved into)
-- Library standing.lua: standing_of
-- Library standing-changes.lua: mark_deleted
-- Library account-events.lua: tell_event
-- Answers marked account_deleted account_banned(end, 0 without one) moving sign_in_required other
--
-- A banned account cannot delete itself, because its user could then open a new account. An operator can delete a banned account. After a
-- restore, `backup` deletes an account in any state. The deletion of an account also deletes the guests that moved into it: `by` is then
-- the account's id.
local state, detail = standing_of(standing)
if state == 'deleted' then return {'account_deleted'} end
if state == 'moving' then return {'moving'} end
local is_of_guest = by ~= 'owner' and by ~= 'operator' and by ~= 'backup'
if state == 'moved' and (by == 'owner' or by == 'operator') then return {'sign_in_required'} end
-- If the guest is open, Redis has lost the record of the guest's move. The data that the guest wrote since then exists nowhere else, so the
-- guest must not be deleted.
if is_of_guest and not (state == 'moved' and detail == by) then return {'other'} end
if state == 'banned' and by == 'owner' then return {'account_banned', detail} end
mark_deleted(standing, at)
if not is_of_guest then count_today('deleted', 1) end
tell_event(string.match(standing, '^{(.-)}'), 'd', '')
return {'marked'}
