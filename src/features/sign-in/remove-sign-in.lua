-- Removes a sign-in from the caller's account, and ends its sessions, the pairings that these claimed, and the sessions that name no
-- sign-in: those may have begun with it.
-- KEYS account, sessions
-- ARGV id, session_id, provider, life_seconds
-- Prologue prologue-check.lua: generation
-- Library sign-ins.lua: sign_ins_of, has_sign_in
-- Library session-list.lua: end_session, is_live_session, mark_of_session
-- Library account-events.lua: tell_event
-- Answers removed(whether the caller's own session ended 0|1) sign_in_not_found last_sign_in
--
-- The account decides. The sign-in itself is in another slot, and is ended afterwards, or at its next use (storeAccountOf).
local tag = string.match(account, '^{.-}')
if not has_sign_in(tag, id) then return {'sign_in_not_found'} end
if #sign_ins_of(tag) == 2 then return {'last_sign_in'} end
redis.call('HDEL', tag .. ':sign-ins', id)
if tag == '{' .. id .. '}' then redis.call('SET', tag .. ':sign-in:ended', now) end
local entries, is_own = redis.call('HGETALL', sessions), '0'
for index = 1, #entries, 2 do
  local session, text = entries[index], entries[index + 1]
  if is_live_session(sessions, session, text, generation) then
    local sign_in = string.match(text, '<session: sign_in>') or ''
    if sign_in == '' or sign_in == id then
      redis.call('HDEL', sessions, session)
      end_session(mark_of_session(sessions, session), life_seconds)
      if session == session_id then is_own = '1' end
    end
  end
end
tell_event(string.sub(tag, 2, -2), 'o', provider)
return {'removed', is_own}
