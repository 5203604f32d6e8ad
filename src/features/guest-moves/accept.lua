-- Takes a guest into an account, once its ledger is copied, or refuses it: coins, history, coin keys, and the fields of the account.
-- KEYS account, ledger, standing, credited, record, staged
-- ARGV guest_id, target_id, store, seq, entries, credited_today, fields, kept_seconds
-- Shared secret
-- Library standing.lua: standing_of, has_guest, count_guests
-- Library standing-changes.lua: add_guest
-- Library account-events.lua: tell_event
-- Library ledger.lua: MAX_BALANCE, MIN_BALANCE, CREDITED_KEPT_SECONDS, is_data_of, whole, of_account, guest_ledger, tail, bucket_of, append, is_small, file_guest
-- Prelude bounded-lines.lua: join_lines
-- Answers accepted refused void incomplete(entries in the copy) other_data
--
-- This script alone decides a move, because the account's bounds are known here alone, and it decides it once: an accepted guest has
-- a line in the account's standing, and a refused move keeps its word in `record`. A helper that comes later gets the same
-- answer, whatever the bounds are by then.
--
-- A small ledger is filed with the account's own ledger, where one look-up serves all filed guests. A large ledger costs a
-- look-up of its own, so an account takes few of them.
local MAX_GUESTS, MAX_LARGE_GUESTS = 500, 50

-- The guests of a deleted account too, while it is being erased.
local account_state, _, generation, moved_in = standing_of(standing)
local has_line = has_guest(moved_in, guest_id)
local state = string.match(redis.call('GET', record) or '', '^%S+')
if has_line and state ~= 'open' then return {'accepted'} end
if state == 'refused' then return {'refused'} end
if state ~= 'open' then return {'void'} end
if not is_data_of(secret) then return {'other_data'} end
local last_seq, coins = tail(staged)
local copied = redis.call('LLEN', staged)
if copied ~= tonumber(entries) or last_seq ~= tonumber(seq) then return {'incomplete', whole(copied)} end

local guest_count, large_count = count_guests(moved_in)
local is_filed = is_small(staged)
local target_seq, target_balance = tail(ledger)
local refusal
-- Redis lost the freeze of an earlier move after this account had accepted the guest, and the guest went on for itself. If it moved again,
-- the coins that it has earned since would be lost, and the coins that it brought would count twice. So it stays; the audit names it
-- (half_move).
if has_line then refusal = 'not_a_guest'
elseif account_state == 'deleted' then refusal = 'account_deleted'
elseif account_state == 'banned' then refusal = 'account_banned'
elseif guest_count >= MAX_GUESTS or (not is_filed and large_count >= MAX_LARGE_GUESTS) then refusal = 'too_many_guests'
elseif coins + target_balance > MAX_BALANCE or coins + target_balance < MIN_BALANCE then refusal = 'balance_limit' end
if refusal then
  redis.call('SET', record, 'refused ' .. guest_id .. ' ' .. refusal, 'EX', kept_seconds)
  return {'refused'}
end

-- Nothing below refuses.
local guests = guest_ledger(ledger, guest_id)
if copied > 0 then
  redis.call('RENAME', staged, guests)
  local _, buckets = bucket_of(staged, 0, last_seq)
  for bucket = 0, is_filed and -1 or buckets - 1 do
    local from = of_account(staged, 'index:' .. bucket)
    -- A bucket without a key does not exist.
    if redis.call('EXISTS', from) == 1 then redis.call('RENAME', from, of_account(guests, 'index:' .. bucket)) end
  end
end
local created = redis.call('HSETNX', account, 'createdAt', now)
redis.call('HSET', account, 'store', store)
if created == 1 then tell_event(target_id, 'n', '') end
tell_event(target_id, 'm', guest_id)
-- A debt moves too.
if coins ~= 0 then
  last_seq = last_seq + 1
  append(guests, last_seq, 0, 'm' .. whole(-coins), 'merge:' .. target_id, nil, true)
  append(ledger, target_seq + 1, target_balance + coins, 'm' .. whole(coins), 'merge:' .. guest_id)
end

-- The guest's credits of the day count towards the account's daily cap, even past it: a new install must not bring a new cap.
if credited_today ~= '0' then
  redis.call('INCRBY', credited, credited_today)
  redis.call('EXPIRE', credited, CREDITED_KEPT_SECONDS)
end

-- Each group of fields is {rule, name, value, …}. Its first field decides about all of them (accounts/fields.ts).
for _, group in ipairs(cjson.decode(fields)) do
  local rule, name, brought = group[1], group[2], group[3]
  local held = redis.call('HGET', account, name)
  if brought ~= '' and rule == 'purchase_lines' then
    local joined = join_lines(held or '', brought, tonumber(now), of_account(ledger, 'purchases'))
    redis.call('HSET', account, name, joined)
    -- The account has the guest's subscriptions from now on. put-line.lua tells of later changes.
    for line in string.gmatch(joined, '[^\n]+') do
      if not string.find('\n' .. (held or '') .. '\n', '\n' .. line .. '\n', 1, true) then
        tell_event(target_id, 's', (string.gsub(line, '^%S+ (%S+ %S+) %S+ %S+', '%1')))
      end
    end
  elseif brought ~= '' and (not held or (rule == 'earlier' and tonumber(brought) < tonumber(held))
    or (rule == 'later' and tonumber(brought) > tonumber(held))) then
    redis.call('HSET', account, unpack(group, 2))
  end
end

add_guest(standing, guest_id, last_seq, guest_count + 1, is_filed)
if is_filed then file_guest(guest_id, ledger, guest_count + 1, last_seq) end
redis.call('SET', record, table.concat({'accepted', guest_id, whole(created), whole(coins), generation, whole(target_balance + coins)}, ' '), 'EX', kept_seconds)
return {'accepted'}
