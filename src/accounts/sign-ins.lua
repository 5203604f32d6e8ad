-- The sign-ins of an account: a hash `{…}:sign-ins` of sign-in id → entry (`signInEntry` of sign-ins.ts). The id of a sign-in is the id of
-- the account that it opens if nobody adds it to another account. An account that began by a sign-in has this sign-in even without an
-- entry, until the sign-in ends. The key `{…}:sign-in:ended` exists once it has ended. `tag` is the hash tag of the account, `{…}`.
-- Gives has_sign_in(), sign_ins_of() and use_sign_in().

local function is_own_sign_in(tag, id)
  return tag == '{' .. id .. '}' and redis.call('EXISTS', tag .. ':sign-in:ended') == 0 and redis.call('HEXISTS', tag .. ':account', 'store') == 1
end

local function has_sign_in(tag, id)
  return redis.call('HEXISTS', tag .. ':sign-ins', id) == 1 or is_own_sign_in(tag, id)
end

-- Returns the entries of all sign-ins: id, entry, id, entry …
local function sign_ins_of(tag)
  local found, id = redis.call('HGETALL', tag .. ':sign-ins'), string.sub(tag, 2, -2)
  if redis.call('HEXISTS', tag .. ':sign-ins', id) == 0 and is_own_sign_in(tag, id) then
    local account = redis.call('HMGET', tag .. ':account', 'createdAt', 'store')
    found[#found + 1] = id
    found[#found + 1] = string.format('<sign_in>', account[1], account[1], account[2])
  end
  return found
end

-- Notes that a sign-in was used. Returns false if the account does not have the sign-in.
local function use_sign_in(tag, id, provider)
  if not has_sign_in(tag, id) then return false end
  local added_at = string.match(redis.call('HGET', tag .. ':sign-ins', id) or '', '<sign_in: added_at>')
  added_at = added_at or redis.call('HGET', tag .. ':account', 'createdAt') or now
  redis.call('HSET', tag .. ':sign-ins', id, string.format('<sign_in>', added_at, now, provider))
  return true
end
