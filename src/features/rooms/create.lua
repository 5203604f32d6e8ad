-- Creates a room under a code, unless a room that has not expired has this code.
-- KEYS room, seats
-- ARGV code, head, doc, state, account_id, ttl_ms
-- Shared seats_kept_seconds
-- Prologue prologue-open.lua: open_account, list_in_account, answer
-- Library head.lua: is_alive
-- Answers created taken
local standing = redis.call('HGET', room, 'head')
if is_alive(standing, tonumber(now)) then return {'taken'} end
if not open_account(account, creation_barred) then return {'rate_limited'} end

if standing then redis.call('DEL', room) end
redis.call('HSET', room, 'head', head, 'doc', doc, 'state', state, 'given', 1, 'p1', account_id)
redis.call('PEXPIRE', room, ttl_ms)
list_in_account(seats, code, seats_kept_seconds)
return answer('created')
