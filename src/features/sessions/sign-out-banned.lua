-- Ends all sessions of a banned account: the next generation stands behind the ban. Only a session that has not ended itself does so.
-- KEYS moves, ended
-- ARGV -
-- Answers signed_out
local ban, before = string.match(redis.call('GET', moves) or '', '^(![^\n]*\n)(.*)$')
if not ban or redis.call('EXISTS', ended) == 1 then return {'signed_out'} end
local generation, guests = string.match(before, '^#(%d+)\n(.*)$')
if not generation then generation, guests = '0', before end
local of_session = string.match(ended, ':out:(%d+)%.') or (guests == '' and '0')
if of_session == generation then redis.call('SET', moves, string.format('%s#%d\n', ban, tonumber(generation) + 1) .. guests) end
return {'signed_out'}
