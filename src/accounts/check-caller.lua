-- Refuses a session that has ended, and an account that moved, is moving, is banned or was deleted. Most accounts have no record of their
-- standing, and most sessions have no sign-out mark; then the check costs one command. The script that follows sees the locals `moved_in`
-- and `generation`.
-- KEYS standing, signed_out
-- ARGV -
-- Library standing.lua: standing_of, session_generation
-- Answers session_ended sign_in_required account_deleted account_banned(end, 0 without one) moving
--
-- After the answer `moving` the service finishes the move and repeats the call (`helpMove`).
local moved_in, generation = '', '0'
if standing ~= '' and (signed_out == '' and redis.call('EXISTS', standing) or redis.call('EXISTS', standing, signed_out)) > 0 then
  if signed_out ~= '' and redis.call('EXISTS', signed_out) == 1 then return {'session_ended'} end
  local state, detail
  state, detail, generation, moved_in = standing_of(standing)
  if state == 'banned' then return {'account_banned', detail} end
  if state == 'moved' then return {'sign_in_required'} end
  if state == 'deleted' then return {'account_deleted'} end
  if state == 'moving' then return {'moving'} end
  if signed_out ~= '' and session_generation(signed_out, moved_in) ~= generation then return {'session_ended'} end
end
