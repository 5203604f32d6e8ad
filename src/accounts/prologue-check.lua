-- Refuses a session that ended, and an account that moved, is moving, is banned or was deleted. Most accounts have no move record, and
-- most sessions no mark: then the check costs one command. The script that follows sees the locals `moved_in` and `generation`.
-- KEYS moves, signed_out
-- ARGV -
-- Answers session_ended sign_in_required account_deleted account_banned(end, 0 without one) moving
--
-- The move record of an account that moved is ">account id". A guest whose move is under way has the line
-- "~<move id> <account id> <store> <day>", before the record that it had (store/move/freeze.lua): until the move is done or refused
-- nothing may write to the guest's account. The service then finishes the move and repeats the call (`helpMove`).
--
-- The record of a deleted account is "=<time>"; while it is being erased, the record that it had follows on the next line
-- (mark-deleted.lua). A banned account has the line "!<end or 0> <since> <reason or ->" before the record that it had (ban.lua).
-- After its end the line counts for nothing. No account id begins with one of these characters.
--
-- The record of any other account begins with the line "#<generation>" if all its sessions were ever ended together: sessions of earlier generations have ended. One line
-- "<account id> <ledger entries> …" follows for each guest that moved into the account. `moved_in` holds these lines;
-- store/move/accept.lua writes them.
--
-- `signed_out` ends with the session's id, which begins with "<generation>.". Sessions of older versions have an id without
-- a generation. Such a session counts as generation 0, but it has ended if guests moved into the account: the older versions
-- started sessions of the account for anybody who had a guest's installId.
local moved_in, generation = '', '0'
if moves ~= '' and (signed_out == '' and redis.call('EXISTS', moves) or redis.call('EXISTS', moves, signed_out)) > 0 then
  if signed_out ~= '' and redis.call('EXISTS', signed_out) == 1 then return {'session_ended'} end
  local record = redis.call('GET', moves) or ''
  local first = string.sub(record, 1, 1)
  if first == '!' then
    local ban_end
    ban_end, record = string.match(record, '^!(%d+)[^\n]*\n(.*)$')
    if ban_end == '0' or tonumber(now) < tonumber(ban_end) then return {'account_banned', ban_end} end
    first = string.sub(record, 1, 1)
  end
  if first == '>' then return {'sign_in_required'} end
  if first == '=' then return {'account_deleted'} end
  if first == '~' then return {'moving'} end
  generation, moved_in = string.match(record, '^#(%d+)\n(.*)$')
  if not generation then generation, moved_in = '0', record end
  local of_session = string.match(signed_out, ':out:(%d+)%.') or (moved_in == '' and '0')
  if signed_out ~= '' and of_session ~= generation then return {'session_ended'} end
end
