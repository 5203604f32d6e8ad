/** A mistake that a developer could make, or a bad merge. No type check and no lint notices it, so a test has to. */
export interface Mistake {
  readonly name: string;
  /** The source file, from the root of the project. */
  readonly file: string;
  /** The right text. The file has it once. */
  readonly before: string;
  readonly after: string;
  /** What a user or an operator would suffer. */
  readonly harm: string;
  /** Folders or files of tests that run first. One that does not exist is skipped. Default: the folder that mirrors that of the file. */
  readonly hints?: readonly string[];
  /** The hints run on a Redis Cluster, or with the tests of `test:long`. Default: with the other tests of `npm test`. */
  readonly runs?: 'cluster' | 'long';
}

/**
 * Drawn from the source alone, one for each feature and layer, without reading the tests. A mistake whose text the source no longer has
 * must be drawn again from the new text: the proof ends with an error until then.
 */
export const mistakes: readonly Mistake[] = [
  {
    name: 'deletion-keeps-last-keys',
    file: 'src/features/deletion/erase-account.lua',
    before: `for name in string.gmatch(last_names, '%S+') do redis.call('UNLINK', tag .. ':' .. name) end\n`,
    after: '',
    harm: 'The lists of boards, rooms and purchases of a deleted account stay in Redis for ever.',
  },
  {
    name: 'two-prizes-for-one-rank',
    file: 'src/features/catalogue/file-shape.ts',
    before: 'if (place > 0 && upTo <= ranks[place - 1]!)',
    after: 'if (place > 0 && upTo < ranks[place - 1]!)',
    harm: 'A catalogue with two prizes for the same rank is accepted, and nobody ever wins the second one.',
    hints: ['test/features/catalogue/', 'test/features/highscores/'],
  },
  {
    name: 'key-of-guest-books-again',
    file: 'src/features/coins/apply.lua',
    before: `local is_simple = seq > 0 and not refusal and moved_in == ''`,
    after: `local is_simple = seq > 0 and not refusal`,
    harm: 'A credit or debit that a guest made before its sign-in is booked a second time when the app repeats it.',
    hints: ['test/features/coins/', 'test/features/guest-moves/'],
  },
  {
    name: 'report-becomes-proof',
    file: 'src/features/entitlement/entitlement.ts',
    before: `const proven = entitlementOf(entitlementFactsOf(fields, 'ignore'), at, config.TRIAL_DAYS);`,
    after: `const proven = entitlementOf(entitlementFactsOf(fields, config.SUBSCRIPTION_REPORTS), at, config.TRIAL_DAYS);`,
    harm: 'A user who only claims to be subscribed gets a signed proof of it.',
  },
  {
    name: 'reader-skips-behind-gap',
    file: 'src/features/events/read-log.lua',
    before: 'at = following and math.min(readable, following * CHUNK_LENGTH) or readable',
    after: 'at = readable',
    harm: 'A server that reads events across a gap of the log misses all events behind the gap.',
  },
  {
    name: 'figures-stay-public',
    file: 'src/features/health/metrics.ts',
    before: `  probe: true,\n  hasOwnPort: true,\n`,
    after: `  probe: true,\n`,
    harm: 'With METRICS_PORT the public port still shows the metrics to everybody.',
    hints: ['test/features/health/', 'test/process/', 'test/main.test.ts'],
  },
  {
    name: 'one-winner-too-many',
    file: 'src/features/highscores/close-season.lua',
    before: 'range(season_scores, is_ascending, up_to - 1, up_to - 1)',
    after: 'range(season_scores, is_ascending, up_to, up_to)',
    harm: 'Each prize of a season is paid to one player too many.',
  },
  {
    name: 'repeated-letter-passes',
    file: 'src/features/names/name-words.ts',
    before: 'counts[at + index]! >= count',
    after: 'counts[at + index]! === count',
    harm: 'A player gets a refused name by repeating one of its letters.',
  },
  {
    name: 'second-scanner-denies',
    file: 'src/features/pairing/claim.lua',
    before: 'scanner and SEVERAL or claimant',
    after: 'claimant',
    harm: 'A person who photographs the QR code can deny the pairing, and so lock its owner out.',
  },
  {
    name: 'refund-by-new-catalogue',
    file: 'src/features/purchases/coins/record-with-price.lua',
    before: `if entries == 0 and product_id ~= '' then`,
    after: `if product_id ~= '' then`,
    harm: 'After a change of the catalogue a refund takes other coins than the purchase gave.',
  },
  {
    name: 'kicked-guest-rejoins',
    file: 'src/features/rooms/room-action.lua',
    before: `if was_kicked(found, account_id, guest_set(moved_in)) then return 'kicked' end`,
    after: `if was_kicked(found, account_id, {}) then return 'kicked' end`,
    harm: 'A player who was kicked as a guest signs in, and joins the room again.',
  },
  {
    name: 'renewal-revives-lease',
    file: 'src/features/rooms/presence.lua',
    before: `elseif event ~= 'renew' or redis.call('ZSCORE', leases, member) then`,
    after: `elseif event ~= 'check' then`,
    harm: 'A process that was cut off from Redis revives its leases, and no other process checks the room when it dies: players stay connected.',
  },
  {
    name: 'match-enters-private-room',
    file: 'src/features/rooms/match/take-seat.lua',
    before: `if locked == 'true' or public ~= 'true' then return 'room_locked' end`,
    after: `if locked == 'true' then return 'room_locked' end`,
    harm: 'A quick match seats a stranger in a room that its host has just made private.',
  },
  {
    name: 'hand-dealt-during-hello',
    file: 'src/features/rooms/welcome.ts',
    before: `  const { state } = socket;\n  if (state !== undefined && state.privateAt > (own?.seq ?? 0)) socket.privateChanged();\n`,
    after: '',
    harm: 'A player who connects while the cards are dealt never sees its hand.',
  },
  {
    name: 'wrong-session-ends',
    file: 'src/features/sessions/end.ts',
    before: 'ended: signedOutKey(accountId, id) };',
    after: 'ended: signedOutKey(accountId, session?.id ?? id) };',
    harm: 'A user who ends the session of a lost phone signs out the present browser, and the phone stays signed in.',
  },
  {
    name: 'moved-coins-are-balance',
    file: 'src/features/sign-in/provision.ts',
    before: 'movedFields(outcome.coins)',
    after: 'movedFields(outcome.balanceAfter)',
    harm: 'After a sign-in the app tells its user that all coins of the account came from the guest.',
  },
  {
    name: 'stranger-uses-up-nonce',
    file: 'src/features/install-proof/take-nonce.lua',
    before: `if owner ~= '' and caller_id ~= '' and caller_id ~= owner then return {'nonce_used'} end\n` + `redis.call('DEL', nonce)\n`,
    after: `redis.call('DEL', nonce)\n` + `if owner ~= '' and caller_id ~= '' and caller_id ~= owner then return {'nonce_used'} end\n`,
    harm: 'Another account that sends the nonce of an install uses it up, and the owner cannot prove the install.',
  },
  {
    name: 'guest-resets-daily-cap',
    file: 'src/features/guest-moves/add-guest-to-account.lua',
    before: `redis.call('INCRBY', credited, credited_today)`,
    after: `redis.call('SET', credited, credited_today)`,
    harm: 'A user whose daily cap of credits is used up gets a new one by moving a fresh guest into the account.',
    hints: ['test/features/guest-moves/', 'test/features/coins/'],
  },
  {
    name: 'notice-during-check-is-lost',
    file: 'src/features/purchases/subscription/update-purchase.lua',
    before: 'if hinted_at and tonumber(hinted_at) >= tonumber(checked_at) then due_at = now end\n',
    after: '',
    harm: 'A refund that the app store announces during a check is noticed only at the next check, days later.',
  },
  {
    name: 'trial-ends-late',
    file: 'src/features/trial/model.ts',
    before: 'if (nowMs >= endsAtMs) return',
    after: 'if (nowMs > endsAtMs) return',
    harm: 'At its end a trial is still active, with 0 seconds left, which the interface does not allow.',
  },
  {
    name: 'failures-are-not-counted',
    file: 'src/features/webhooks/hook-delivery.ts',
    before: 'counts.counted(this.id, outcome);',
    after: 'if (isSuccess) counts.counted(this.id, outcome);',
    harm: 'The metric of failed deliveries stays 0, so no alarm tells the operator that a webhook loses events.',
  },
  {
    name: 'sign-out-ends-ban',
    file: 'src/accounts/standing-changes.lua',
    before: `redis.call('SET', standing, ban_words and string.format('<ban: ends_at..reason, behind>', ban_words, changed) or changed)`,
    after: `redis.call('SET', standing, changed)`,
    harm: 'A banned user, or the operator, signs out everywhere, and the ban is gone.',
    hints: ['test/accounts/', 'test/features/deletion/', 'test/features/sessions/'],
  },
  {
    name: 'failed-steps-are-forgotten',
    file: 'src/journal/journal.ts',
    before: 'const done = follow(decision).then(',
    after: 'const steps = follow(decision).catch(() => undefined);\n    const done = steps.then(',
    harm: 'If Redis fails after the decision to delete an account or to move a guest, the rest of the work is never done.',
    hints: ['test/journal/', 'test/features/deletion/'],
  },
  {
    name: 'unpaid-upgrade-replaces',
    file: 'src/stores/google/subscriptions.ts',
    before: 'retires: isPaid && linkedId !== undefined,',
    after: 'retires: linkedId !== undefined,',
    harm: 'A subscriber who begins an upgrade, and has not paid for it yet, loses the access that is paid for.',
    hints: ['test/stores/google/', 'test/features/purchases/subscription/'],
  },
  {
    name: 'renewal-at-its-moment',
    file: 'src/apart/sandbox/google/subscription-lifecycle.ts',
    before: 'const periods = Math.floor((now - paidUntil) / periodMs) + 1;',
    after: 'const periods = Math.ceil((now - paidUntil) / periodMs);',
    harm: 'At the moment of a renewal the sandbox says that the subscription has ended and is active, so developers see a gap that Google has not.',
  },
  {
    name: 'chunked-body-has-no-bound',
    file: 'src/server/http/exchange.ts',
    before: 'const isTooLarge = sizeBytes > limitBytes || ++pieces > limitBytes / LEAST_PIECE_BYTES;',
    after: 'const isTooLarge = ++pieces > limitBytes / LEAST_PIECE_BYTES;',
    harm: 'Clients fill the memory with chunked bodies of many megabytes.',
  },
  {
    name: 'notice-of-missed-is-short',
    file: 'src/server/live/relays.ts',
    before: 'this.#missed = { from: this.#missed?.from ?? from, to };',
    after: 'this.#missed = { from, to };',
    harm: 'A player is told of the last missed message only, and does not learn that more are missing.',
  },
  {
    name: 'session-outlives-its-end',
    file: 'src/server/identity/sessions.ts',
    before: 'return now < until && now < session.expiresAt ? session',
    after: 'return now < until ? session',
    harm: 'A session that was used a moment ago counts for up to a minute after its end.',
  },
  {
    name: 'batch-takes-foreign-rules',
    file: 'src/redis/script-batches.ts',
    before: 'if (script.shared.every((name, index) => args[name] === gathering.shared[index])) return gathering;',
    after: 'if (script.shared.every((name) => name in args)) return gathering;',
    harm: 'A credit that comes together with one of a server key gets its rules: it has no cap, and the name of the key.',
    hints: ['test/redis/', 'test/features/coins/'],
  },
  {
    name: 'subscription-confirmed-early',
    file: 'src/redis/subscriber.ts',
    before: `return this.#ask('SUBSCRIBE', this.#named(channels), channels.length);`,
    after: `return this.#ask('SUBSCRIBE', this.#named(channels), 1);`,
    harm: 'After a reconnection the service reads rooms before it hears of their changes, and watchers miss some.',
  },
  {
    name: 'last-slot-has-no-primary',
    file: 'src/redis/cluster-client.ts',
    before: 'for (let slot = from; slot <= to; slot++)',
    after: 'for (let slot = from; slot < to; slot++)',
    harm: 'On a Redis Cluster the accounts, rooms and boards of one slot of each range cannot be reached.',
    hints: ['test/features/coins/'],
    runs: 'cluster',
  },
  {
    name: 'audit-reports-expired-keys',
    file: 'src/consistency/key-life.ts',
    before: `if (life === 'ends' && ttlMs === -1)`,
    after: `if (life === 'ends' && ttlMs < 0)`,
    harm: 'The audit reports drift for each key that expires while it runs, and alarms operators for nothing.',
  },
  {
    name: 'support-removes-any-sum',
    file: 'src/operator/adjust.ts',
    before: 'Math.abs(coins) > SUPPORT_ADJUST_COINS',
    after: 'coins > SUPPORT_ADJUST_COINS',
    harm: 'A key of the role support may take any number of coins from an account by one correction.',
  },
  {
    name: 'name-rewrites-terminal',
    file: 'src/operator/terminal/table.ts',
    before: String.raw`const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}`,
    after: String.raw`const UNPRINTABLE = /[\p{Cc}\p{Cs}`,
    harm: 'A player whose name has direction marks makes the terminal of an operator show another line than there is.',
  },
  {
    name: 'foreign-key-confirms',
    file: 'src/operator/page/session.ts',
    before:
      `    if (held.operator !== key.id) return refuse('forbidden', { message: 'This is not the key with which you signed in.' });\n` +
      `    const confirmedUntil = await consoleSessions.confirm(key.id, held);\n`,
    after: `    const confirmedUntil = await consoleSessions.confirm(held.operator, held);\n`,
    harm: 'In the session of another operator any key confirms changes that cannot be undone.',
    hints: ['test/operator/page/', 'test/operator/'],
  },
  {
    name: 'reference-hides-bounds',
    file: 'src/web/reference/fields.ts',
    before: '  if (minimum !== undefined && maximum !== undefined) return [`${written(minimum)} to ${written(maximum)}`];\n',
    after: '',
    harm: 'The reference at /docs names the least value of a number and hides the greatest.',
  },
  {
    name: 'purchase-waits-for-ever',
    file: 'src/clients/javascript/pending-operations.ts',
    before: `        retry = undefined;\n`,
    after: '',
    harm: 'The client tries a purchase that waits for the app store once more after a minute, and then never again.',
  },
  {
    name: 'dead-worker-keeps-sockets',
    file: 'src/process/worker-pool.ts',
    before: `        for (const group of held.sockets.all()) this.#reservations.giveBack('sockets', group);\n`,
    after: '',
    harm: 'The sockets of a worker that died count for ever, and after some deaths their addresses may open none.',
    runs: 'long',
  },
  {
    name: 'restore-forgets-deletions',
    file: 'src/apart/backup/known-deletions.ts',
    before: 'if (page.length < 2 * PAGE) break;',
    after: 'if (page.length <= 2 * PAGE) break;',
    harm: 'A restore knows only the first thousand deleted accounts, and brings the others back.',
    runs: 'long',
  },
  {
    name: 'one-kid-for-two-keys',
    file: 'src/config.ts',
    before:
      `.min(1, 'must hold at least one key')\n` +
      `    .refine((keys) => new Set(keys.map((key) => key.kid)).size === keys.length, 'must not name one kid twice'),\n`,
    after: `.min(1, 'must hold at least one key'),\n`,
    harm: 'A rotation that reuses a kid starts, and signs out every user whose session the second key had signed.',
    hints: ['test/config.test.ts'],
  },
];
