-- Reads a page of an account's list of purchases, newest first.
-- KEYS listed
-- ARGV after (a purchase, or '': from the newest), count
-- Prologue check-caller.lua: moved_in
-- Answers page(purchase …) unknown_place
local from = 0
if after ~= '' then
  local rank = redis.call('ZREVRANK', listed, after)
  if not rank then return {'unknown_place'} end
  from = rank + 1
end
return {'page', unpack(redis.call('ZREVRANGE', listed, from, from + count - 1))}
