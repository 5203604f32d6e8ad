-- Tells an event of an account that a script in another slot decided, once: the account counts its events.
-- KEYS account, forwarded
-- ARGV id (of the event as it was decided), letter, words
-- Library account-events.lua: tell_event
-- Answers told known
--
-- The relay may come again with the same event, if it died before the log had all of the outbox's element.
local KEPT_SECONDS = 86400
if not redis.call('SET', forwarded .. id, '', 'EX', KEPT_SECONDS, 'NX') then return {'known'} end
tell_event(string.match(account, '^{(.-)}'), letter, words)
return {'told'}
