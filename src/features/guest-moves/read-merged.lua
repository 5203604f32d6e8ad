-- Reads the guests and the sign-ins of an account that moves into another account. The guests and the sign-ins move too, as the account's
-- ledger and fields do.
-- KEYS standing
-- ARGV move_id
-- Library standing.lua: standing_of
-- Library standing-changes.lua: is_frozen
-- Library sign-ins.lua: sign_ins_of
-- Answers merged(lines of its guests, number of entries of each, sign-in id, entry …) thawed
if not is_frozen(standing, move_id) then return {'thawed'} end
local _, _, _, moved_in = standing_of(standing)
local tag, lengths = string.match(standing, '^{.-}'), {}
for id in string.gmatch(moved_in, '<guest: id>') do
  lengths[#lengths + 1] = string.format('%d', redis.call('LLEN', tag .. ':guest:' .. id .. ':ledger'))
end
return {'merged', moved_in, table.concat(lengths, ' '), unpack(sign_ins_of(tag))}
