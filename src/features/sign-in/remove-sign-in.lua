-- Removes a sign-in from the caller's account. Ends the sessions that began with this sign-in, and the sessions of pairings that such a
-- session claimed. Also ends the sessions that name no sign-in, because they may have begun with this sign-in.
-- KEYS account, sessions
-- ARGV id, session_id, provider, life_seconds
-- Prologue check-caller.lua: generation
-- Library sign-ins.lua: sign_ins_of, has_sign_in
-- Library session-list.lua: end_sessions_of
-- Library account-events.lua: tell_event
-- Answers removed(whether the caller's own session ended 0|1) sign_in_not_found last_sign_in
--
-- The account's list is authoritative. The record of the sign-in itself is in another slot, and is marked as ended afterwards, or when the
-- sign-in is next used (storeAccountOf).
local tag = string.match(account, '^{.-}')
if not has_sign_in(tag, id) then return {'sign_in_not_found'} end
if #sign_ins_of(tag) == 2 then return {'last_sign_in'} end
redis.call('HDEL', tag .. ':sign-ins', id)
if tag == '{' .. id .. '}' then redis.call('SET', tag .. ':sign-in:ended', now) end
local is_own = end_sessions_of(sessions, id, generation, session_id, life_seconds) and '1' or '0'
tell_event(string.sub(tag, 2, -2), 'o', provider)
return {'removed', is_own}
