-- Looks at the id of the data, writes one where a first start may, and moves the heartbeat on (data-id.ts).
-- KEYS id, secret
-- ARGV known ('': none), made (the id to write where there is none; '': none), least (the heartbeat of data that is too old is lower), beats (1: move the heartbeat on)
-- Answers found(id, heartbeat before, heartbeat after, accepted at, now, secret) missing(now, secret)
local BEAT_MS = 900 -- of several processes that look every second one moves the heartbeat on
local MOST_MS = 2000 -- the heartbeat counts time in which the data was served, and not an outage
local time = redis.call('TIME')
local at = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
local found_secret = redis.call('GET', secret) or ''
local text = redis.call('GET', id)
if not text then
  if made == '' then return {'missing', at, found_secret} end
  text = made .. ' 000000000000000 ' .. at .. ' 0'
  redis.call('SET', id, text)
end
local found, before, beaten_at, accepted_at = string.match(text, '^(%S+) (%d+) (%d+) (%d+)$')
if not found then return {'missing', at, found_secret} end -- somebody wrote another text
local after = before
local passed = at - beaten_at
if beats == '1' and (found == known or found == made) and before >= least and (passed < 0 or passed >= BEAT_MS) then
  -- The clock was set back, or belongs to another machine: about a second has passed.
  if passed < 0 then passed = 1000 end
  after = string.format('%015d', before + math.min(passed, MOST_MS))
  redis.call('SET', id, found .. ' ' .. after .. ' ' .. at .. ' ' .. accepted_at)
end
return {'found', found, before, after, accepted_at, at, found_secret}
