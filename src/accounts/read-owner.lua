-- Reads whether an account has a sign-in that was added to it.
-- KEYS standing
-- ARGV sign_in_id
-- Library standing.lua: standing_of
-- Library sign-ins.lua: has_sign_in
-- Answers open(has it 0|1) banned(has it 0|1, end, 0 without one) moving moved(account that it moved into) deleted(time)
local state, detail = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end
return {state, has_sign_in(string.match(standing, '^{.-}'), sign_in_id) and '1' or '0', detail}
