import { accountCreation } from '../../../accounts/account-creation.ts';
import { accountEvents } from '../../../accounts/account-events.ts';
import { boundedLines, purchaseLine, toldSubscription } from '../../../accounts/purchase-lines.ts';
import { accountKey, standingKey } from '../../../accounts/account-keys.ts';
import { standingLibrary } from '../../../accounts/standing.ts';
import { Queue } from '../../../redis/queue.ts';
import { defineLibrary, defineScript } from '../../../redis/script.ts';
import { purchaseScript } from '../core/purchase-script.ts';
import type { ScriptServices } from '../../../declare.ts';
import { subscriptionKeys } from './model.ts';
import { accountOf } from '../core/owner.ts';
import { retryWhileChanged } from '../core/retry-while-changed.ts';
import { purchaseJournal, queued, readPurchase, todoPrelude, lineOf, type PurchaseDocument } from './purchase-document.ts';
import { purchasesRecordedBy } from './purchases-page.ts';

const linesPrelude = defineLibrary(new URL('account-lines.lua', import.meta.url), { formats: [purchaseLine, toldSubscription] });

export const putLineScript = defineScript({
  file: new URL('put-line.lua', import.meta.url),
  keys: ['account', 'standing', 'revised', 'owned'],
  args: ['hash', 'revision', 'line', 'now'],
  answers: ['put', 'stale', 'moved', 'moving', 'deleted'],
  prelude: linesPrelude,
  library: [standingLibrary, boundedLines, accountEvents, accountCreation],
  durable: true,
});

export const dropLineScript = defineScript({
  file: new URL('drop-line.lua', import.meta.url),
  keys: ['account', 'standing', 'revised'],
  args: ['hash', 'revision'],
  answers: ['dropped', 'stale', 'moved', 'moving', 'deleted'],
  prelude: linesPrelude,
  library: [standingLibrary, accountEvents],
  durable: true,
});

export const retireScript = purchaseScript(new URL('retire-purchase.lua', import.meta.url), ['by', 'newOwner', 'act'], ['retired'], {
  prelude: todoPrelude,
});

export const clearStepsScript = purchaseScript(new URL('clear-steps.lua', import.meta.url), ['revision'], ['finished', 'changed']);

export const releaseScript = purchaseScript(new URL('release-purchase.lua', import.meta.url), ['owner'], ['released', 'kept']);

/**
 * Updates the Redis keys that depend on the record of a purchase: its line in the owner's account, its lines in accounts of earlier owners,
 * and the record of the purchase that it replaces.
 *
 * The record of the purchase is authoritative. The record's field `todo` lists the steps that are left. So after a crash the next request
 * for the purchase, or the queue, finishes these steps. Every step may be repeated. Two calls may take the steps at the same time, because
 * an account ignores a step of an older revision, and `clear-steps.lua` clears nothing if the purchase has changed since it was read.
 * If the owner was deleted, the purchase is forgotten, so that its token may be recorded for another account.
 * @param chain the purchases that replaced this one, one after the other. None of them is followed again, so that purchases that replace
 * each other do not lead in circles
 * @returns the purchase without steps left; undefined: no account recorded it, or its owner was deleted
 * @throws Error if Redis is unavailable
 */
export async function finishPurchase(
  hash: string,
  services: ScriptServices,
  chain: readonly string[] = [],
): Promise<PurchaseDocument | undefined> {
  const { scripts } = services;
  const purchase = subscriptionKeys.purchase(hash);
  const { document } = await retryWhileChanged(async () => {
    const document = await readPurchase(hash, scripts);
    if (document === undefined || document.todo.length === 0) return { document };
    const put = document.todo.includes('line') ? await putLine(hash, document, services) : 'put';
    if (put === 'changed') return undefined;
    for (const owner of ofWork(document, 'drop')) await dropLine(hash, owner, document, services);
    if (document.todo.includes('leave')) await new Queue(subscriptionKeys.unowned, scripts).bring(hash, services.now());
    for (const linked of ofWork(document, 'retire')) await retire(linked, hash, document, services, chain);
    const [word] = await scripts.run(clearStepsScript, { purchase }, { revision: document.revision });
    if (word !== 'finished') return undefined;
    if (put === 'deleted' && (await release(hash, document.owner, scripts))) return { document: undefined };
    return { document: { ...document, todo: [] } };
  });
  return document;
}

function ofWork({ todo }: PurchaseDocument, kind: 'drop' | 'retire'): string[] {
  return todo.filter((work) => work.startsWith(`${kind}:`)).map((work) => work.slice(kind.length + 1));
}

function lineKeys(accountId: string, hash: string) {
  return { account: accountKey(accountId), standing: standingKey(accountId), revised: subscriptionKeys.revised(accountId, hash) };
}

/**
 * Writes the line in the owner's account. @returns `changed` if the purchase may have changed since it was read; `deleted` if its owner was
 * deleted
 */
async function putLine(hash: string, document: PurchaseDocument, { scripts, now }: ScriptServices): Promise<'put' | 'changed' | 'deleted'> {
  const { owner, revision, retiredBy } = document;
  const line = retiredBy === '' ? lineOf(hash, document) : '';
  const put = async (accountId: string) => {
    const keys = { ...lineKeys(accountId, hash), owned: subscriptionKeys.ofAccount(accountId) };
    const [word, created] = await scripts.run(putLineScript, keys, { hash, revision, line, now: now() });
    if (word === 'put' && created === '1') scripts.accountCreated();
    return word;
  };
  let word = await put(owner);
  if (word === 'moving' || word === 'moved') {
    const target = await accountOf(owner, scripts);
    // Another account may have become the owner before the guest moved. The change of owner would then have removed the line from the
    // guest, but not from the account into which the guest moved.
    if ((await readPurchase(hash, scripts))?.revision !== revision) return 'changed';
    word = target === undefined ? 'deleted' : await put(target);
  }
  if (word === 'deleted') return word;
  return word === 'put' ? 'put' : 'changed';
}

/**
 * Removes the purchase's line from an earlier owner's account. The line stays if that account is also the account of the present owner: an
 * earlier owner moved into the account, or the account got the purchase back.
 */
async function dropLine(hash: string, earlier: string, document: PurchaseDocument, { scripts }: ScriptServices): Promise<void> {
  await retryWhileChanged(async () => {
    const accountId = await accountOf(earlier, scripts);
    // A deleted account has no lines.
    if (accountId === undefined) return true;
    const isOwners = document.retiredBy === '' && accountId === (await accountOf(document.owner, scripts));
    if (isOwners) return true;
    const [word] = await scripts.run(dropLineScript, lineKeys(accountId, hash), { hash, revision: document.revision });
    return word === 'moved' || word === 'moving' ? undefined : true;
  });
}

async function retire(
  linked: string,
  by: string,
  document: PurchaseDocument,
  services: ScriptServices,
  chain: readonly string[],
): Promise<void> {
  await queued(linked, services, async (act) => {
    const keys = { purchase: subscriptionKeys.purchase(linked) };
    await services.scripts.run(retireScript, keys, { by, newOwner: document.owner, act });
    // Without this condition, two purchases that name each other as replaced would lead in circles.
    if (!chain.includes(linked)) await finishPurchase(linked, services, [...chain, by]);
    return undefined;
  });
}

/** Forgets a purchase whose owner was deleted. @returns false if the purchase has changed since it was read */
async function release(hash: string, owner: string, scripts: ScriptServices['scripts']): Promise<boolean> {
  const [word] = await scripts.run(releaseScript, { purchase: subscriptionKeys.purchase(hash) }, { owner });
  return word === 'released';
}

/** Forgets all purchases of an account that was deleted. */
export async function releasePurchases(accountId: string, services: ScriptServices): Promise<void> {
  let at = '0';
  do {
    const { cursor, members } = await purchasesRecordedBy(accountId, at, services.scripts);
    await Promise.all(members.map((hash) => releasePurchase(hash, services)));
    at = cursor;
  } while (at !== '0');
}

/**
 * Forgets a purchase if its owner was deleted. If another purchase replaced it, a record without the owner stays (`release-purchase.lua`).
 * The steps of `todo` are finished before. The queue checks the purchase once more, finds nothing to check, and forgets it too.
 */
async function releasePurchase(hash: string, services: ScriptServices): Promise<void> {
  await retryWhileChanged(async () => {
    const document = await finishPurchase(hash, services);
    if (document === undefined || (await accountOf(document.owner, services.scripts)) !== undefined) return true;
    return (await release(hash, document.owner, services.scripts)) || undefined;
  });
  await purchaseJournal(services).bring(hash, services.now());
}
