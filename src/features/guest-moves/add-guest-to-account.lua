-- Takes a guest into an account once the guest's ledger is copied, or refuses the guest. The account gets the coins, the history, the
-- idempotency keys, and the fields of the guest.
-- KEYS account, ledger, standing, credited, record, staged
-- ARGV guest_id, target_id, store (`MoveTarget` of model.ts), seq, entries, credited_today, fields, joined, kept_seconds
-- Shared secret
-- Library standing.lua: standing_of, has_guest, count_guests
-- Library standing-changes.lua: add_guest
-- Library account-events.lua: tell_event
-- Library create-account.lua: create_account
-- Library ledger.lua: MAX_BALANCE, MIN_BALANCE, CREDITED_KEPT_SECONDS, is_data_of, whole, of_account, guest_ledger, tail, bucket_of, append, is_small, file_guest
-- Library purchase-lines.lua: join_lines
-- Answers accepted refused void incomplete(ledger, entries in its copy) other_data
--
-- Only this script accepts or refuses a move, because only the account's slot has the account's bounds. If it accepts a guest, it writes a
-- line into the account's standing (the record of moves, bans and deletions). If it refuses a move, it writes the reason into `record`. A
-- later call for the same move gets the same answer, even if the bounds have changed.
--
-- A small ledger is filed with the account's own ledger (file_guest of ledger.lua), where one lookup searches the ledgers of all filed
-- guests. Each large ledger takes a further lookup, so an account accepts few guests with a large ledger.
--
-- The guest may also be an account with guests and sign-ins (a merge), which all move too, or a sign-in that was never used. In these cases
-- `joined` is JSON, {guests: [{id, lastSeq, entries, isFiled}], signIns: [[id, entry, provider's name]]}, otherwise ''. The copy of the
-- first guest's ledger is `{…}:move:<move>.1:ledger`.
local MAX_GUESTS, MAX_LARGE_GUESTS = 500, 50

-- While a deleted account is being erased, `moved_in` still has its guests.
local account_state, _, generation, moved_in = standing_of(standing)
local has_line = has_guest(moved_in, guest_id)
local state = string.match(redis.call('GET', record) or '', '^%S+')
if has_line and state ~= 'open' then return {'accepted'} end
if state == 'refused' then return {'refused'} end
if state ~= 'open' then return {'void'} end
if not is_data_of(secret) then return {'other_data'} end
local last_seq, coins = tail(staged)
local copied = redis.call('LLEN', staged)
if copied ~= tonumber(entries) or last_seq ~= tonumber(seq) then return {'incomplete', '0', whole(copied)} end
local brings = joined ~= '' and cjson.decode(joined) or {guests = {}, signIns = {}}
for place, guest in ipairs(brings.guests) do
  guest.copy = string.sub(staged, 1, -8) .. '.' .. place .. ':ledger'
  local length = redis.call('LLEN', guest.copy)
  if length ~= guest.entries then return {'incomplete', whole(place), whole(length)} end
end

local guest_count, large_count = count_guests(moved_in)
local is_filed = is_small(staged)
local large_new = is_filed and 0 or 1
for _, guest in ipairs(brings.guests) do
  if not guest.isFiled then large_new = large_new + 1 end
end
local target_seq, target_balance = tail(ledger)
local refusal
-- The account accepted this guest in an earlier move, but Redis then lost the freeze of the guest, so a client could use the guest again.
-- If the guest moved again, the coins that it has earned since its move would be lost, and the coins that it brought would count twice. So
-- the guest is refused. The audit reports it as half_move.
if has_line then refusal = 'not_a_guest'
elseif account_state == 'deleted' then refusal = 'account_deleted'
elseif account_state == 'banned' then refusal = 'account_banned'
-- The account itself is moving, or has moved, into another account.
elseif account_state ~= 'open' then refusal = 'account_moved'
elseif guest_count + #brings.guests >= MAX_GUESTS or (large_new > 0 and large_count + large_new > MAX_LARGE_GUESTS) then refusal = 'too_many_guests'
elseif coins + target_balance > MAX_BALANCE or coins + target_balance < MIN_BALANCE then refusal = 'balance_limit' end
if refusal then
  redis.call('SET', record, 'refused ' .. guest_id .. ' ' .. refusal, 'EX', kept_seconds)
  return {'refused'}
end

-- No line after this one refuses the guest.
-- Renames the copy of a ledger and of its index to the names that they have in the account.
local function take_copy(copy, of_guest, entries_seq, has_index)
  if redis.call('EXISTS', copy) == 0 then return end
  redis.call('RENAME', copy, of_guest)
  local _, buckets = bucket_of(copy, 0, entries_seq)
  for bucket = 0, has_index and buckets - 1 or -1 do
    local from = of_account(copy, 'index:' .. bucket)
    -- A bucket without an idempotency key has no Redis key.
    if redis.call('EXISTS', from) == 1 then redis.call('RENAME', from, of_account(of_guest, 'index:' .. bucket)) end
  end
end
local guests = guest_ledger(ledger, guest_id)
take_copy(staged, guests, last_seq, not is_filed)
local created = create_account(account)
count_today('moved', 1)
local kind = string.sub(store, 1, 1)
if kind ~= '-' and kind ~= '+' then redis.call('HSETNX', account, 'store', store) end
if kind ~= '+' then tell_event(target_id, kind == '-' and 'j' or 'm', guest_id) end
for _, sign_in in ipairs(brings.signIns) do
  redis.call('HSET', of_account(ledger, 'sign-ins'), sign_in[1], sign_in[2])
  tell_event(target_id, 'i', sign_in[3])
end
-- The guest's balance moves even if it is below 0.
if coins ~= 0 then
  last_seq = last_seq + 1
  append(guests, last_seq, 0, -coins, 'm' .. whole(-coins), 'merge:' .. target_id, nil, true)
  append(ledger, target_seq + 1, target_balance + coins, coins, 'm' .. whole(coins), 'merge:' .. guest_id)
end

-- The guest's credits of the day are added to the account's credits of the day, even past the account's daily cap. Otherwise each new
-- install would bring a new cap.
if credited_today ~= '0' then
  redis.call('INCRBY', credited, credited_today)
  redis.call('EXPIRE', credited, CREDITED_KEPT_SECONDS)
end

-- Each group of fields is {rule, name, value, …}. The first field of a group decides whether the account keeps its values of the whole
-- group or gets the guest's (accounts/merge-rules.ts).
for _, group in ipairs(cjson.decode(fields)) do
  local rule, name, brought = group[1], group[2], group[3]
  local held = redis.call('HGET', account, name)
  if brought ~= '' and rule == 'purchase_lines' then
    local joined = join_lines(held or '', brought, tonumber(now), of_account(ledger, 'purchases'))
    redis.call('HSET', account, name, joined)
    -- The account gets the guest's subscriptions, so the script emits an event about each. put-line.lua emits the events of later changes.
    for line in string.gmatch(joined, '[^\n]+') do
      if not string.find('\n' .. (held or '') .. '\n', '\n' .. line .. '\n', 1, true) then
        local state, ends, product = string.match(line, '<line: state, ends, product>')
        if state then tell_event(target_id, 's', string.format('<told>', state, ends, product)) end
      end
    end
  elseif brought ~= '' and (not held or (rule == 'earlier' and tonumber(brought) < tonumber(held))
    or (rule == 'later' and tonumber(brought) > tonumber(held))) then
    redis.call('HSET', account, unpack(group, 2))
  end
end

for _, guest in ipairs(brings.guests) do
  guest_count = guest_count + 1
  take_copy(guest.copy, guest_ledger(ledger, guest.id), guest.lastSeq, not guest.isFiled)
  add_guest(standing, guest.id, guest.lastSeq, guest_count, guest.isFiled)
  if guest.isFiled then file_guest(guest.id, ledger, guest_count, guest.lastSeq) end
end
add_guest(standing, guest_id, last_seq, guest_count + 1, is_filed)
if is_filed then file_guest(guest_id, ledger, guest_count + 1, last_seq) end
redis.call('SET', record, table.concat({'accepted', guest_id, created and '1' or '0', whole(coins), generation, whole(target_balance + coins)}, ' '), 'EX', kept_seconds)
return {'accepted'}
