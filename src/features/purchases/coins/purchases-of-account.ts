import { accountCreation } from '../../../accounts/account-creation.ts';
import { accountEvents } from '../../../accounts/account-events.ts';
import { accountKey, standingKey } from '../../../accounts/account-keys.ts';
import type { CallerScripts } from '../../../accounts/caller-scripts.ts';
import { standingLibrary } from '../../../accounts/standing.ts';
import { runWhereItIs } from '../../../accounts/standing-reader.ts';
import { pairsOf } from '../../../redis/reply-pairs.ts';
import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import { purchaseKeys } from './model.ts';

const listScript = defineScript({
  file: new URL('list-purchase.lua', import.meta.url),
  keys: ['account', 'standing', 'listed'],
  args: ['purchase', 'at'],
  answers: ['listed', 'moving', 'moved', 'deleted'],
  library: [standingLibrary, accountEvents, accountCreation],
  durable: true,
});

const unlistScript = defineScript({
  file: new URL('unlist-purchase.lua', import.meta.url),
  keys: ['standing', 'listed'],
  args: ['purchase'],
  answers: ['unlisted', 'moving', 'moved', 'deleted'],
  library: standingLibrary,
  durable: true,
});

/**
 * Reads part of an account's purchases, oldest first, for moves, deletions, exports and operators. Answers part(the number of all
 * purchases; purchase, time …).
 */
const readListed = defineScript({
  name: 'purchases/read-listed',
  lua: `return {'part', tostring(redis.call('ZCARD', listed)), unpack(redis.call('ZRANGE', listed, from, from + count - 1, 'WITHSCORES'))}`,
  keys: ['listed'],
  args: ['from', 'count'],
  answers: ['part'],
  readOnly: true,
});

/** Adds a purchase to the list of its owner, or of the account into which the owner moved. @returns false if the account was deleted */
export async function listPurchase(owner: string, purchaseId: string, at: number, scripts: CallerScripts): Promise<boolean> {
  const { word, figures } = await runWhereItIs(owner, scripts, (id) =>
    scripts.run(
      listScript,
      { account: accountKey(id), standing: standingKey(id), listed: purchaseKeys.listed(id) },
      { purchase: purchaseId, at },
    ),
  );
  if (figures[0] === '1') scripts.accountCreated();
  return word === 'listed';
}

/**
 * Removes a purchase from the list of an account, and, if the account moved into another account, from that account's list. @returns true
 */
export async function unlistPurchase(owner: string, purchaseId: string, scripts: CallerScripts): Promise<true> {
  await runWhereItIs(owner, scripts, (id) =>
    scripts.run(unlistScript, { standing: standingKey(id), listed: purchaseKeys.listed(id) }, { purchase: purchaseId }),
  );
  return true;
}

/** The number of purchases that one call reads from a list. */
const AT_ONCE = 100;

/** A part of an account's list of purchases, oldest first. @param from the number of older purchases to skip */
export async function listedPart(
  accountId: string,
  from: number,
  scripts: ScriptRunner,
  count = AT_ONCE,
): Promise<{ readonly size: number; readonly listed: readonly (readonly [purchaseId: string, at: string])[] }> {
  const [, size, ...words] = await scripts.run(readListed, { listed: purchaseKeys.listed(accountId) }, { from, count });
  return { size: Number(size), listed: pairsOf(words) };
}

/** All of an account's purchases, part by part. */
export async function* listedParts(accountId: string, scripts: ScriptRunner) {
  for (let from = 0; ; from += AT_ONCE) {
    const { listed } = await listedPart(accountId, from, scripts);
    if (listed.length > 0) yield listed;
    if (listed.length < AT_ONCE) return;
  }
}
