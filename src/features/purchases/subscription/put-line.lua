-- Writes an account's line of a purchase, and adds the purchase to the account's set. The account has ten lines at most, but its set has
-- all its purchases, because a deletion of the account has to find them.
-- KEYS account, standing, revised, owned
-- ARGV hash, revision, line ('': another purchase replaced it, so it has no line), now
-- Prelude account-lines.lua: owner_away, is_newer, lines_without, told_of, write_lines
-- Library standing.lua: standing_of
-- Library purchase-lines.lua: bound_lines
-- Library account-events.lua: tell_event
-- Library create-account.lua: create_account
-- Answers put(created 0|1) stale moved(account that it moved into) moving deleted(time)
local away = owner_away()
if away then return away end
if not is_newer() then return {'stale'} end

-- The owner of a purchase may be an account that has written nothing yet, so the account is created.
local created = create_account(account)
redis.call('SADD', owned, hash)
local lines, before = lines_without()
if line ~= '' then lines[#lines + 1] = line end
write_lines(bound_lines(lines, tonumber(now), owned))
-- If the line did not change, or another purchase replaced this one, no event is emitted.
if line ~= '' and not (before and told_of(line) == told_of(before)) then tell_event(string.match(account, '^{(.-)}'), 's', told_of(line)) end
return {'put', created and '1' or '0'}
