import type { Change } from './copies.ts';

/** Mistakes in copies of the service. A proof is good if its checks find them. */

/** Every slot counts as served by the node: the guard of moving slots is missing. */
export const UNGUARDED: readonly Change[] = [
  {
    file: 'src/redis/script-text.ts',
    from: /^const IS_HERE = `local function is_here\(key\)$[\s\S]*?^end`;$/m,
    to: 'const IS_HERE = `local function is_here() return true end`;',
  },
];

/** A save is written whatever version stands. */
export const BLIND_SAVES: readonly Change[] = [
  {
    file: 'src/features/saves/save.lua',
    from: "if if_version ~= '' and tonumber(if_version) ~= version then",
    to: 'if false then',
  },
];

/** A sign-in is added without a check whether somebody has used it first. */
export const UNCHECKED_FIRST_USE: readonly Change[] = [
  {
    file: 'src/features/guest-moves/freeze-guest.lua',
    from: "if redis.call('EXISTS', account) == 1 or moved_in ~= '' then return {'used'} end",
    to: '',
  },
];

/** A move forgets one of the holdings. */
export const FORGOTTEN_HOLDING: readonly Change[] = [
  {
    file: 'src/features/guest-moves/finisher.ts',
    from: `for (const { handOver } of holdings)
      if (handOver !== undefined &&`,
    to: `for (const { name, handOver } of holdings)
      if (handOver !== undefined && name !== 'saves' &&`,
  },
];

/** The service believes the client's state of a purchase: a payment that is still pending gives coins at once. */
export const STATE_OF_CLIENT: readonly Change[] = [
  {
    file: 'src/features/purchases/coins/claim-purchase.ts',
    from: '...proofShape,',
    to: "...proofShape, state: z.enum(['pending', 'purchased', 'canceled']).optional(),",
  },
  {
    file: 'src/features/purchases/coins/claim-purchase.ts',
    from: 'const purchase = await readSold(seller, text, undefined, traceparent);',
    to: `const answer = await readSold(seller, text, undefined, traceparent);
    const purchase = typeof answer === 'string' ? answer : { ...answer, state: body.state ?? answer.state };`,
  },
];

/** The service believes the client's refunds: a client that says that nothing was refunded gets the coins back. */
export const REFUND_OF_CLIENT: readonly Change[] = [
  {
    file: 'src/features/purchases/coins/claim-purchase.ts',
    from: '...proofShape,',
    to: '...proofShape, refundedQuantity: z.number().optional(),',
  },
  {
    file: 'src/features/purchases/coins/claim-purchase.ts',
    from: 'const purchase = await readSold(seller, text, undefined, traceparent);',
    to: `const answer = await readSold(seller, text, undefined, traceparent);
    const refundedQuantity = (body as { refundedQuantity?: number }).refundedQuantity;
    const purchase = typeof answer === 'string' || refundedQuantity === undefined ? answer : { ...answer, refundedQuantity };`,
  },
];

/** The id of a transaction, which is a number of 16 digits, counts as a proof of who bought. */
export const ID_IS_PROOF: readonly Change[] = [
  { file: 'src/features/purchases/core/proof.ts', from: 'isOpen: openProofs.includes(field)', to: 'isOpen: false' },
];

/** A refund of 33.333 percent of three units takes back no unit. */
export const PERCENTAGE_CUT: readonly Change[] = [
  {
    file: 'src/stores/apple/transactions.ts',
    from: 'const nearest = Math.round(units);',
    to: 'return Math.trunc(units);\n  const nearest = Math.round(units);',
  },
];

/** Each check that finds a refund takes the refunded units again, without the sum of the earlier refunds. */
export const REFUND_BY_ADD: readonly Change[] = [
  {
    file: 'src/features/purchases/coins/record-with-price.lua',
    from: 'local decided = decide()',
    to: "redis.call('HDEL', purchase, 'returnedUnits')\nlocal decided = decide()",
  },
];

/** The coins are granted before a record says whose purchase it is. */
export const GRANT_BEFORE_CLAIM: readonly Change[] = [
  {
    file: 'src/features/purchases/coins/coin-purchases.ts',
    from: 'const purchaseId = purchaseIdOf(store, purchase.id);\n    return retryWhileChanged',
    to: `const purchaseId = purchaseIdOf(store, purchase.id);
    const sold = catalogue.productSoldAs(store, purchase.sku);
    if (presented !== undefined && sold !== undefined && purchase.state === 'purchased')
      await this.#options.bookings.book(presented.accountId, {
        ...{ type: 'topup', coins: sold.coins * purchase.quantity, key: [store, purchaseId, '1'], refusesBanned: false },
        purchase: { purchaseId, store, productId: sold.productId, quantity: purchase.quantity },
      });
    return retryWhileChanged`,
  },
];

/** The event is written by a separate command after the script: if the process dies in between, the event is lost. */
export const AFTER_THE_SCRIPT: readonly Change[] = [
  {
    file: 'src/redis/outbox.ts',
    from: "    redis.call('RPUSH', ${tag}'${OUTBOX}', time[1]",
    to: '    answers[calls + 1] = (time[1]',
  },
  {
    file: 'src/redis/script-batches.ts',
    from: '      (answers) => this.#settle(batch.script, batch.calls, answers),',
    to: `      async (answers) => {
        const late = (answers as unknown[])[batch.calls.length];
        // Stands for other work of the process in between.
        await new Promise((resolve) => setTimeout(resolve, 2));
        if (typeof late === 'string') await this.#parts.connection.call('EVAL', ["return redis.call('RPUSH', 'outbox', ARGV[1])", 0, late]);
        this.#settle(batch.script, batch.calls, answers);
      },`,
  },
];

/** The cursor is the time of the last event, so it may fall between events of one millisecond. */
export const CURSOR_BY_TIME: readonly Change[] = [
  {
    file: 'src/features/events/events.ts',
    from: 'return { events: page.events, cursor: page.next.toString(36) };',
    to: 'return { events: page.events, cursor: (page.events.length === 0 ? after : Date.parse(page.events.at(-1)!.at)).toString(36) };',
  },
  {
    file: 'src/features/events/events.ts',
    from: 'let page = await log.read(after, limit, types);',
    to: `let place = after < 1e12 ? after : await log.positionAt(after);
  let page = await log.read(place, 1000, types);
  for (;;) {
    const later = page.events.filter(({ at }) => Date.parse(at) > after || after < 1e12);
    if (later.length > 0 || page.isEnd) return { ...page, events: later.slice(0, limit) };
    place = page.next;
    page = await log.read(place, 1000, types);
  }`,
  },
];
