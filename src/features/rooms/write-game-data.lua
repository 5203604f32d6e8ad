-- Writes a game's data in a room: the state, or the caller's own public data, or private parts of players, together with the state or
-- alone. All changes of a call take effect together.
-- KEYS room
-- ARGV action, account_id, seat_id, order, tab, is_whole, from, text, if_state_seq, private, ttl_ms
-- Shared key_game
-- Prologue check-caller.lua
-- Library standing.lua: guest_set
-- Library room.lua: find_room_of, data_limit, seated_set, actor_in, is_done, note_order, note_presence, set, keep, settle, reply
-- Answers done(seq, player id, is host 0|1, private, field, value …) replayed(as done) contended(as done) merge_from(text) too_long(limit) unknown_seat(player id) stale_state(stateSeq, state) room_not_found forbidden not_in_room not_host not_writer room_ended
--
-- action   state, data or private
-- from     '' if `text` replaces the room's text. For a merge, the room's text into which the process merged the patch; '-' if the process
-- does not know the room's text. If the room has another text now, the script writes nothing, and answers `merge_from` with the room's text
-- text     the new state, or for `data` the player's new data; '' to write neither
-- private  the new private parts: a line with the player id and a line with the JSON text, in turn
--
-- The answer is `contended` instead of `done` if within the last CONTENDED_MS a merge had to be repeated because another process had
-- written.
local CONTENDED_MS = 1000
local target = action == 'data' and seat_id .. '.data' or 'state'
local found, state_seq, text_before = find_room_of(room, seat_id, 'stateSeq', target)
if not found then return {'room_not_found'} end
local actor, refusal = actor_in(found, account_id, guest_set(moved_in), key_game)
if not actor then return {refusal} end
local is_guests = refusal
if is_done(found, actor, order, tab) then return reply('replayed', found, actor, is_whole) end

local is_server, is_host = key_game ~= '', actor == found.host
if action == 'private' and not is_server and not is_host then return {'not_host'} end
if action ~= 'data' and (text ~= '' or from ~= '') and not is_server then
  if found.writers == 'server' then return {'not_writer'} end
  if found.writers ~= 'players' and not is_host then return {'not_host'} end
end
if found.phase == 'ended' then return {'room_ended'} end

if action == 'data' and actor ~= seat_id then
  target = actor .. '.data'
  text_before = redis.call('HGET', room, target)
end
text_before = text_before or 'null'
if if_state_seq ~= '' and if_state_seq ~= state_seq then return {'stale_state', state_seq, text_before} end
if from ~= '' and from ~= text_before then
  if from ~= '-' then redis.call('HSET', room, 'contended', now) end
  return {'merge_from', text_before}
end
if action == 'data' and #text > data_limit(found.most) then return {'too_long', string.format('%d', data_limit(found.most))} end

local seq = string.format('%d', found.seq + 1)
local is_taken = private ~= '' and seated_set(found)
for id, hand in string.gmatch(private, '([^\n]+)\n([^\n]+)\n') do
  if not is_taken[id] then return {'unknown_seat', id} end
  keep(found, id .. ':private', string.format('<private>', seq, hand))
  found.private_of = found.private_of and found.private_of .. ' ' .. id or id
end
if found.private_of then set(found, 'privateSeq', seq) end
if text ~= '' and text ~= text_before then
  set(found, target, text)
  if target == 'state' then set(found, 'stateSeq', seq) end
end
if is_guests then keep(found, actor .. ':account', account_id) end
note_order(found, actor, order, tab)
note_presence(found, actor, is_whole)
settle(found, ttl_ms)
local contended = from ~= '' and redis.call('HGET', room, 'contended')
local word = contended and tonumber(contended) > tonumber(now) - CONTENDED_MS and 'contended' or 'done'
return reply(word, found, actor, is_whole)
