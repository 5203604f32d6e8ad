-- Emits, once, an event of an account that a script in another slot decided. This script runs in the account's slot, which numbers the
-- account's events.
-- KEYS account, forwarded
-- ARGV id (of the event as it was decided), letter, words
-- Library account-events.lua: tell_event
-- Answers told known
--
-- A relay repeats this call if an earlier relay died before it had appended the whole element of the outbox to the log.
local KEPT_SECONDS = 86400
if not redis.call('SET', forwarded .. id, '', 'EX', KEPT_SECONDS, 'NX') then return {'known'} end
tell_event(string.match(account, '^{(.-)}'), letter, words)
return {'told'}
