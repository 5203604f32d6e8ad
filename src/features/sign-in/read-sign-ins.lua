-- Reads the sign-ins of the caller's account, and the sign-in of the caller's session.
-- KEYS account, sessions
-- ARGV session_id
-- Prologue check-caller.lua
-- Library sign-ins.lua: sign_ins_of
-- Library session-list.lua
-- Answers sign_ins(the session's sign-in or '', sign-in id, entry …)
local entry = redis.call('HGET', sessions, session_id) or ''
local sign_in = string.match(entry, '<session: sign_in>') or ''
return {'sign_ins', sign_in, unpack(sign_ins_of(string.match(account, '^{.-}')))}
