-- Emits, once, an event that a script in another slot decided for an account. It runs in the account's slot, which numbers its events.
-- KEYS account, forwarded
-- ARGV id (of the event as it was decided), letter, words
-- Library account-events.lua: tell_event
-- Answers told known
--
-- The relay sends the same event again if it died before it had appended the whole element of the outbox to the log.
local KEPT_SECONDS = 86400
if not redis.call('SET', forwarded .. id, '', 'EX', KEPT_SECONDS, 'NX') then return {'known'} end
tell_event(string.match(account, '^{(.-)}'), letter, words)
return {'told'}
