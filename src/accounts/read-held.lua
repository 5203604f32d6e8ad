-- Reads a part of a set or a hash of an account, also of a banned, moved or deleted account.
-- KEYS held
-- ARGV cursor (of SSCAN or HSCAN, 0 at first)
-- Answers set(next cursor, member …) hash(next cursor, field, value …) none
local kind = redis.call('TYPE', held).ok
if kind == 'none' then return {'none'} end
local part = redis.call(kind == 'set' and 'SSCAN' or 'HSCAN', held, cursor)
return {kind, part[1], unpack(part[2])}
