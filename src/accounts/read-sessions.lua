-- Reads the sessions in the list of the caller's account that have not ended.
-- KEYS sessions
-- ARGV -
-- Prologue check-caller.lua: generation
-- Library session-list.lua: is_live_session
-- Answers sessions(id, entry …)
local entries = redis.call('HGETALL', sessions)
local answer = {'sessions'}
for index = 1, #entries, 2 do
  if is_live_session(sessions, entries[index], entries[index + 1], generation) then
    answer[#answer + 1] = entries[index]
    answer[#answer + 1] = entries[index + 1]
  end
end
return answer
