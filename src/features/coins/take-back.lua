-- Takes back the coins that an operator granted under an idempotency key: once for each ledger that has such a grant, and atomically.
-- KEYS ledger, standing
-- ARGV asked (the account that the operator names), granted_key, least (lowest balance after it), key_begins, key_ends, origin, only_asks ('1' or '')
-- Shared kept (milliseconds, 0: for ever), secret
-- Library standing.lua: standing_of, guest_set, unfiled_guests
-- Library ledger.lua: is_data_of, whole, of_account, guest_ledger, tail, hash_of, entry_of, used_for, file_key, forget_oldest, append
-- Answers taken(coins, balance after, coins granted, account that was granted them) replayed(coins then, balance now, coins granted, account) none deleted(time) moving moved(account that it moved into) other_data
--
-- The grant may be in the ledger of a guest that moved in since. The idempotency key of the entry names the ledger of the grant
-- (take-back-key.ts). So the account gives back its own grants and the grants of its guests, each grant once. An entry of 0 coins is
-- written too: whoever has spent everything gives nothing back later either.
if not is_data_of(secret) then return {'other_data'} end
local state, detail, _, moved_in = standing_of(standing)
if state ~= 'open' and state ~= 'banned' then return {state, detail} end

local seq, balance = tail(ledger)
local account, granted_hash = string.sub(ledger, 2, -9), whole(hash_of(secret, granted_key))
local unfiled = {}
for _, guest in ipairs(unfiled_guests(moved_in)) do unfiled[guest.id] = guest.entries end

local function entry_in(owner)
  if owner == account then return entry_of(ledger, granted_key, granted_hash, seq) end
  if unfiled[owner] then return entry_of(guest_ledger(ledger, owner), granted_key, granted_hash, unfiled[owner]) end
  for _, entry in ipairs(redis.call('LRANGE', guest_ledger(ledger, owner), 0, -1)) do
    if string.match(entry, '<entry: key>') == granted_key then return entry end
  end
end

-- Retention forgets the entry of this script no sooner than the grant. A grant of a guest may stay longer, so it is too old first.
local function granted_in(owner)
  local letter, coins, at, by = string.match(entry_in(owner) or '', '<entry: letter, coins, at, origin>')
  if letter ~= 'g' or string.sub(by, 1, 1) ~= 'o' or (kept ~= '0' and tonumber(at, 36) < now - kept) then return end
  return tonumber(coins)
end

local owner, coins = account, nil
if guest_set(moved_in)[asked] then owner, coins = asked, granted_in(asked) end
if not coins then owner, coins = account, granted_in(account) end
if not coins and moved_in ~= '' then
  local filed = redis.call('HGET', of_account(ledger, 'keys:guests'), granted_key)
  local is_filed = filed and string.find('\n' .. filed, '\ng%d')
  for id in string.gmatch(moved_in, '<guest: id>') do
    if not coins and (unfiled[id] or is_filed) then owner, coins = id, granted_in(id) end
  end
end
if not coins then return {'none'} end

local key = key_begins .. owner .. key_ends
local key_hash = whole(hash_of(secret, key))
local used = used_for('%a%-?%d+', ledger, seq, key, key_hash, moved_in)
if used then return {'replayed', string.sub(used, 2), whole(balance), whole(coins), owner} end
local taken = math.min(coins, math.max(0, balance - least))
if only_asks ~= '1' then
  file_key(ledger, key_hash, whole(seq + 1), seq)
  append(ledger, seq + 1, balance - taken, -taken, 'a' .. whole(-taken), key, origin)
  forget_oldest(ledger, kept, secret, seq + 1)
end
return {'taken', whole(-taken), whole(balance - taken), whole(coins), owner}
