-- Hands a guest's entry on one board over to the account that the guest moved into. If the account has an entry too, the
-- better of the two stays; if the scores are equal, the earlier.
-- KEYS scores, players, version, removed, secret
-- ARGV game, order, guest_id, account_id
-- Library board.lua: entry_of_account, put, take_off, hidden_score, hide, score_of, is_less, changed
-- Library season.lua: order_of, is_of_season, keep_payout, bar_payout
-- Answers moved moved_hidden
--
-- The entry gets the player id of the account. The account's set of boards names the board already (`moveScores`). The guest's set
-- forgets the board next, so `removed` need not explain to the audit why the guest has no entry. Where an operator took the guest's entry off the
-- board of all time, and a closed season kept it, the account's set names the board for that season: `removed` then explains the account. A
-- hidden entry stays so.
local is_ascending = order_of(scores, order) == 'asc'
local brought, is_hidden = entry_of_account(secret, players, guest_id), nil
if brought then
  -- An operator may have deleted a board's scores. Then `players` still names entries that `scores` no longer holds.
  local best = score_of(scores, players, brought)
  is_hidden = hidden_score(players, brought)
  local held, id, is_taken = entry_of_account(secret, players, account_id)
  keep_payout(scores, brought.player_id, guest_id, redis.call('ZSCORE', scores, brought.member))
  keep_payout(scores, id, account_id, held and redis.call('ZSCORE', scores, held.member))
  bar_payout(scores, id, account_id)
  take_off(scores, players, brought)
  if best then
    local standing = held and score_of(scores, players, held)
    local ahead = standing and tonumber(best) - tonumber(standing)
    if ahead and is_ascending then ahead = -ahead end
    -- On descending boards the higher place is the earlier one.
    local is_earlier = held and is_less(held.place, brought.place) ~= is_ascending
    if not is_taken and (not ahead or ahead > 0 or (ahead == 0 and is_earlier)) then
      if held then take_off(scores, players, held) end
      put(scores, players, account_id, id, brought.place, brought.name, best)
      if is_hidden then hide(scores, players, entry_of(players, id), best) end
    end
    changed(version, game)
    local of_all_time = string.sub(version, 1, -8) .. 'players'
    if is_of_season(scores) and redis.call('HEXISTS', of_all_time, id) == 0 then redis.call('SADD', removed, account_id) end
  end
end
redis.call('SREM', removed, guest_id)
return {is_hidden and 'moved_hidden' or 'moved'}
