-- Moves a guest's entry on one board to the account that the guest moved into. If both the guest and the account have an entry, the better
-- entry stays, or the earlier one if the scores are equal.
-- KEYS scores, players, version, removed, secret
-- ARGV game, order, guest_id, account_id
-- Library board.lua: entry_of_account, put, take_off, hidden_score, hide, score_of, is_less, changed
-- Library season.lua: order_of, is_of_season, keep_payout, bar_payout
-- Answers moved moved_hidden
--
-- The entry gets the player id of the account. A hidden entry stays hidden. The account's set of boards already names the board, and
-- `moveScores` will next remove the board from the guest's set. So the audit will no longer expect an entry of the guest, and the script
-- removes the guest from `removed`. An operator may have removed the guest's entry from the board of all time, but not from a closed
-- season. In this case the script adds the account to `removed`, because the account's set names the board although only the season's board
-- has an entry.
local is_ascending = order_of(scores, order) == 'asc'
local brought, is_hidden = entry_of_account(secret, players, guest_id), nil
if brought then
  -- If an operator deleted a board's scores by hand, `players` still has entries without a score.
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
    -- On descending boards the earlier entry has the higher place.
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
