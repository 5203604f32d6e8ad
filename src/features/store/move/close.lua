-- Closes a guest that its account has accepted, if it is still frozen for this move. The record that it writes revokes the guest's
-- credentials, and leads background work (queues, purchases) to the account.
-- KEYS moves
-- ARGV move_id, guest_id, target_id, names (of the keys that go, separated by blanks)
-- Library frozen.lua: is_frozen
-- Answers closed gone
if not is_frozen(moves, move_id) then return {'gone'} end
redis.call('SET', moves, '>' .. target_id)
for name in string.gmatch(names, '%S+') do redis.call('UNLINK', '{' .. guest_id .. '}:' .. name) end
-- Every process subscribes to `moves` and takes the caller from the guest's room connections.
announce('moves', guest_id)
return {'closed'}
