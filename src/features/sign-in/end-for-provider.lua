-- Follows a notification of a sign-in's provider: ends the sessions of the sign-in, or the sign-in itself, even if it is the account's
-- last.
-- KEYS account, sessions
-- ARGV id, provider, removes (0: ends its sessions only), happened_at, life_seconds
-- Prologue check-caller.lua: generation
-- Library sign-ins.lua: sign_ins_of, has_sign_in
-- Library session-list.lua: end_sessions_of
-- Library account-events.lua: tell_event
-- Answers ended(the sign-ins that are left) older sign_in_not_found
--
-- If the event happened before the sign-in was last used, it is ignored, because the user has consented again since then.
local tag = string.match(account, '^{.-}')
if not has_sign_in(tag, id) then return {'sign_in_not_found'} end
local all = sign_ins_of(tag)
for index = 1, #all, 2 do
  if all[index] == id and tonumber(string.match(all[index + 1], '<sign_in: used_at>') or 0) > tonumber(happened_at) then return {'older'} end
end
end_sessions_of(sessions, id, generation, '', life_seconds)
local left = #all / 2
if removes == '1' then
  left = left - 1
  redis.call('HDEL', tag .. ':sign-ins', id)
  if tag == '{' .. id .. '}' then redis.call('SET', tag .. ':sign-in:ended', now) end
  if left == 0 then redis.call('HSET', account, 'signInLostAt', now) end
  tell_event(string.sub(tag, 2, -2), 'o', provider)
end
return {'ended', string.format('%d', left)}
