-- Checks that a nonce was given to the caller's session, and uses it up.
-- KEYS nonce, hashed
-- ARGV session_id, takes (0: only checks)
-- Prologue check-caller.lua
-- Answers valid(which key 1|2, milliseconds left) bad_token
--
-- A provider may put the hash of the nonce into its token. For such a provider, the name of the nonce's key is made from this hash. ''
-- stands for no such key.
for place, key in ipairs({nonce, hashed}) do
  if key ~= '' and redis.call('GET', key) == session_id then
    local left = redis.call('PTTL', key)
    if takes == '1' then redis.call('DEL', key) end
    return {'valid', tostring(place), tostring(left)}
  end
end
return {'bad_token'}
