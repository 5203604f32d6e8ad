-- Deletes an account: from now on nothing acts for it. The record that it had stays behind the mark until all of it is erased.
-- KEYS moves
-- ARGV account_id, at, by (owner, operator, backup, or the account that a guest moved into)
-- Answers marked deleted(is closed 0|1) account_banned(end, 0 without one) moving moved(account that it moved into) other
--
-- A banned account does not delete itself: a new account of the same user would follow. An operator deletes it. After a restore, `backup`
-- deletes an account in any state. The deletion of an account also deletes the guests that moved into it.
local record = redis.call('GET', moves) or ''
local first = string.sub(record, 1, 1)
if first == '=' then return {'deleted', string.find(record, '\n', 1, true) and '0' or '1'} end
if first == '~' then return {'moving'} end
local is_of_guest = by ~= 'owner' and by ~= 'operator' and by ~= 'backup'
if first == '>' then
  local target = string.sub(record, 2)
  if by == 'owner' or by == 'operator' then return {'moved', target} end
  if is_of_guest and target ~= by then return {'other'} end
  record = ''
elseif is_of_guest then
  -- Redis lost the guest's move. What the guest did since is nowhere else.
  return {'other'}
end
if first == '!' and by == 'owner' then
  local ban_end = string.match(record, '^!(%d+)')
  if ban_end == '0' or tonumber(now) < tonumber(ban_end) then return {'account_banned', ban_end} end
end
redis.call('SET', moves, '=' .. at .. '\n' .. record)
-- Every process subscribes to `moves` and takes the caller from the account's room connections.
announce('moves', account_id)
return {'marked'}
