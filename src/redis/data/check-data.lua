-- Reads the id of the data, writes an id at a first start, and advances the heartbeat, which counts the milliseconds for which the data was
-- served (data-id.ts).
-- KEYS id, secret
-- ARGV known ('': none), made (the id to write if there is none; '': write none), least (data below this heartbeat is too old), beats (1: advance the heartbeat)
-- Library data-id.lua: text_of, parse_id, now_text
-- Answers found(id, heartbeat before, heartbeat after, beaten at, accepted at, now, secret, refusal) missing(now, secret)
local BEAT_MS = 900 -- the shortest time between two advances: several processes run this script each second
local MOST_MS = 2000 -- the most that one run adds: the heartbeat measures serving time, not outages
local at = now_text()
local found_secret = text_of(secret)
local text = text_of(id)
if text == '' then
  if made == '' then return {'missing', at, found_secret} end
  text = made .. ' 000000000000000 ' .. at .. ' 0'
  redis.call('SET', id, text)
end
local found, before, beaten_at, accepted_at, refusal = parse_id(text)
if not found then return {'missing', at, found_secret} end -- another client has overwritten the id
local after = before
local passed = at - beaten_at
local is_known = refusal == '' and (found == known or found == made)
if beats == '1' and is_known and before >= least and (passed < 0 or passed >= BEAT_MS) then
  -- The time is negative if Redis's clock was set back, or if the clock is that of another machine after a failover. Assume that a second
  -- has passed.
  if passed < 0 then passed = 1000 end
  after = string.format('%015d', before + math.min(passed, MOST_MS))
  redis.call('SET', id, found .. ' ' .. after .. ' ' .. at .. ' ' .. accepted_at)
end
return {'found', found, before, after, beaten_at, accepted_at, at, found_secret, refusal}
