-- Makes a member due at a time, or earlier if it is due earlier.
-- KEYS due
-- ARGV member, due_at
-- Answers queued(the member's time)
--
-- Every call changes the time, by a fraction of a millisecond where an earlier time stays: settle-due.lua compares times, and so
-- notices an act that began after the work was taken. A double holds a time of this century with steps of 1/4096 ms.
local STEP_MS = 1 / 1024

local held = tonumber(redis.call('ZSCORE', due, member))
local at = tonumber(due_at)
if held and held <= at then at = held - STEP_MS end
local at_text = string.format('%.17g', at)
redis.call('ZADD', due, at_text, member)
return {'queued', at_text}
