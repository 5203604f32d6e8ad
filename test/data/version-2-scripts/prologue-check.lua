-- Refuses a session that ended and an account that moved. Most accounts have no move record, and most sessions no mark: then
-- the check costs one command. The script that follows sees the locals `moved_in` and `generation`.
-- KEYS moves, signed_out
-- ARGV -
-- Answers session_ended sign_in_required
--
-- The move record of an account that moved is ">account id". The record of any other account begins with the line
-- "#<generation>" if all its sessions were ever ended together: sessions of earlier generations have ended. One line
-- "<account id> <ledger entries> …" follows for each guest that moved into the account. `moved_in` holds these lines;
-- store/move.lua writes them.
--
-- `signed_out` ends with the session's id, which begins with "<generation>.". Sessions of older versions have an id without
-- a generation. Such a session counts as generation 0, but it has ended if guests moved into the account: the older versions
-- started sessions of the account for anybody who had a guest's installId.
local moved_in, generation = '', '0'
if moves ~= '' and redis.call('EXISTS', moves, signed_out) > 0 then
  if signed_out ~= '' and redis.call('EXISTS', signed_out) == 1 then return {'session_ended'} end
  local record = redis.call('GET', moves) or ''
  if string.sub(record, 1, 1) == '>' then return {'sign_in_required'} end
  generation, moved_in = string.match(record, '^#(%d+)\n(.*)$')
  if not generation then generation, moved_in = '0', record end
  local of_session = string.match(signed_out, ':out:(%d+)%.') or (moved_in == '' and '0')
  if signed_out ~= '' and of_session ~= generation then return {'session_ended'} end
end
