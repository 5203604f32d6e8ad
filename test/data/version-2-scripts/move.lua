-- Moves a guest into a store account: coins, history, coin keys, trial, first run, report, purchases, install proof.
-- KEYS ledger, credited, target_account, target_ledger, target_credited, target_moves, boards, due
-- ARGV store, guest_id, target_id, unfinished_at, unconfirmed
-- Shared secret
-- Prologue prologue-open.lua: account, moves, moved_in
-- Library ledger.lua: MAX_BALANCE, CREDITED_KEPT_SECONDS, is_data_of, whole, tail, append, is_small, file_guest, FENCE
-- Answers moved(created 0|1, coins, generation) not_a_guest from_pairing too_many_guests balance_limit other_data
--
-- One script makes the whole move, so a crash leaves either no move or a complete one. The record that it writes to the guest's
-- `moves` revokes the guest's credentials, and leads background work (queues, purchases) to the account. The guest's ledger stays,
-- closed by an entry that takes its coins out: key look-ups and the history still read it. The caller hands over the
-- scores afterwards, board by board; the entry in `due` makes another process do it if the caller crashes.
--
-- A small ledger is filed with the account's own ledger, where one look-up serves all filed guests. A large ledger costs a
-- look-up of its own, so an account takes few of them. The account's `moves` has a line for each guest: it ends in "=" if the ledger is
-- filed, else in "*" and the guest's number, and the line FENCE follows. Older versions wrote neither, for ledgers that are not filed.
local MAX_GUESTS, MAX_LARGE_GUESTS = 500, 50

if not is_data_of(secret) then return {'other_data'} end
if redis.call('HEXISTS', account, 'store') == 1 or moved_in ~= '' then return {'not_a_guest'} end
-- The claimant of the pairing chose this guest, and with the guest its trial, purchases and reports.
if unconfirmed == '1' then return {'from_pairing'} end
local target_record = redis.call('GET', target_moves) or ''
local _, guest_count = string.gsub(target_record, ' %d+[=*]?%d*\n', '')
local is_filed = is_small(ledger)
local _, large_count = string.gsub(target_record, '%*%d', '')
if guest_count >= MAX_GUESTS or (not is_filed and large_count >= MAX_LARGE_GUESTS) then return {'too_many_guests'} end
local seq, coins = tail(ledger)
local target_seq, target_balance = tail(target_ledger)
if coins + target_balance > MAX_BALANCE then return {'balance_limit'} end

-- Nothing below refuses.
local created = redis.call('HSETNX', target_account, 'createdAt', now)
redis.call('HSET', target_account, 'store', store)
if coins > 0 then
  seq = seq + 1
  append(ledger, seq, 0, 'm-' .. whole(coins), 'merge:' .. target_id)
  append(target_ledger, target_seq + 1, target_balance + coins, 'm' .. whole(coins), 'merge:' .. guest_id)
end

-- The guest's credits of today count towards the account's daily cap, even past it: a new install must not bring a new cap.
local credited_today = redis.call('GET', credited)
if credited_today then
  redis.call('INCRBY', target_credited, credited_today)
  redis.call('EXPIRE', target_credited, CREDITED_KEPT_SECONDS)
  redis.call('DEL', credited)
end

local function field(key, name) return redis.call('HGET', key, name) or nil end

-- Whether the guest's value replaces the account's: `counts` prefers the earlier or the later of two times.
local function brings(name, counts)
  local brought, held = field(account, name), field(target_account, name)
  return brought and (not held or counts(tonumber(brought), tonumber(held)))
end
local function earlier(one, other) return one < other end
local function later(one, other) return one > other end
local function hand_over(...)
  for _, name in ipairs({...}) do redis.call('HSET', target_account, name, field(account, name) or '') end
end

if brings('trialStartedAt', earlier) then hand_over('trialStartedAt', 'trialDevice') end
if brings('firstRunAt', earlier) then hand_over('firstRunAt') end
if brings('reportedAt', later) then hand_over('reportedAt', 'reportedSubscribed') end
if brings('installVerifiedAt', later) then hand_over('installVerifiedAt') end

local purchases = field(target_account, 'purchases') or ''
for line in string.gmatch(field(account, 'purchases') or '', '[^\n]+') do
  local token_hash = string.match(line, '^%S+')
  if not string.find('\n' .. purchases, '\n' .. token_hash .. ' ', 1, true) then
    purchases = purchases == '' and line or purchases .. '\n' .. line
  end
end
if purchases ~= '' then redis.call('HSET', target_account, 'purchases', purchases) end

redis.call('DEL', account)
redis.call('SET', moves, '>' .. target_id)
-- Every process subscribes to `moves` and takes the caller from the guest's room connections.
redis.call('PUBLISH', 'moves', guest_id)
redis.call('APPEND', target_moves, guest_id .. ' ' .. whole(seq) .. (is_filed and '=\n' or '*' .. guest_count + 1 .. '\n' .. FENCE))
if is_filed then file_guest(guest_id, target_ledger, guest_count + 1, seq) end
if redis.call('EXISTS', boards) == 1 then redis.call('ZADD', due, unfinished_at, guest_id .. ' ' .. target_id) end
return {'moved', whole(created), whole(coins), string.match(target_record, '^#(%d+)\n') or '0'}
