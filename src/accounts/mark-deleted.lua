-- Deletes an account: from now on nothing acts for it. The record that it had stays behind the mark until all of it is erased.
-- KEYS moves
-- ARGV account_id, at, by (owner, operator, or the account that a guest moved into)
-- Answers marked deleted(is closed 0|1) account_banned(end, 0 without one) moving moved(account that it moved into) other
--
-- A banned account does not delete itself: a new account of the same user would follow. An operator deletes it, and any account that a
-- backup has brought back. A guest that moved is deleted with the account that it moved into.
local record = redis.call('GET', moves) or ''
local first = string.sub(record, 1, 1)
if first == '=' then return {'deleted', string.find(record, '\n', 1, true) and '0' or '1'} end
if first == '~' then return {'moving'} end
local is_of_owner, is_of_operator = by == 'owner', by == 'operator'
if first == '>' then
  local target = string.sub(record, 2)
  if is_of_owner then return {'moved', target} end
  if not is_of_operator and target ~= by then return {'other'} end
  record = ''
elseif not is_of_owner and not is_of_operator then
  -- Redis lost the guest's move. What the guest did since is nowhere else.
  return {'other'}
end
if first == '!' and is_of_owner then
  local ban_end = string.match(record, '^!(%d+)')
  if ban_end == '0' or tonumber(now) < tonumber(ban_end) then return {'account_banned', ban_end} end
end
redis.call('SET', moves, '=' .. at .. '\n' .. record)
-- Every process subscribes to `moves` and takes the caller from the account's room connections.
redis.call('PUBLISH', 'moves', account_id)
return {'marked'}
