import { defineScript } from '../../../redis/script.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { SellingStore } from '../../../stores/store.ts';
import { purchaseKeys } from './model.ts';

export const keepNoticeScript = defineScript({
  file: new URL('keep-notice.lua', import.meta.url),
  keys: ['notice'],
  args: ['store', 'id', 'packageName', 'unknowns', 'dueAt', 'act'],
  answers: ['kept'],
  durable: true,
});

const readNoticeScript = defineScript({
  file: new URL('read-notice.lua', import.meta.url),
  keys: ['notice'],
  args: [],
  answers: ['found', 'none'],
  readOnly: true,
});

export const postponeNoticeScript = defineScript({
  file: new URL('postpone-notice.lua', import.meta.url),
  keys: ['notice'],
  args: ['unknowns', 'faults', 'dueAt'],
  answers: ['postponed', 'none'],
});

export const dropNoticeScript = defineScript({
  file: new URL('drop-notice.lua', import.meta.url),
  keys: ['notice'],
  args: ['askedAt'],
  answers: ['dropped', 'kept'],
});

/** A kept notification of the app store, whose purchase cannot be recorded yet. Times are milliseconds since 1970. */
export interface KeptNotice {
  readonly store: SellingStore;
  /** The store's own id of the purchase, a secret. */
  readonly id: string;
  readonly packageName: string;
  readonly noticedAt: number;
  /** The number of answers of the store that it does not know the purchase. */
  readonly unknowns: number;
  /** The number of failed attempts in a row, which determines the wait until the next attempt. */
  readonly faults: number;
  readonly dueAt: number;
}

const keysOf = (purchaseId: string) => ({ notice: purchaseKeys.notice(purchaseId) });

/** Keeps a notification. @returns when the app store is asked again, in milliseconds since 1970 */
export async function keepNotice(
  purchaseId: string,
  notice: Pick<KeptNotice, 'store' | 'id' | 'packageName' | 'unknowns' | 'dueAt'> & { readonly act: string },
  scripts: ScriptRunner,
): Promise<number> {
  const [, dueAt] = await scripts.run(keepNoticeScript, keysOf(purchaseId), notice);
  return Number(dueAt);
}

export async function readNotice(purchaseId: string, scripts: ScriptRunner): Promise<KeptNotice | undefined> {
  const [word, store, id, packageName, noticedAt, unknowns, faults, dueAt] = await scripts.run(readNoticeScript, keysOf(purchaseId), {});
  if (word === 'none') return undefined;
  return {
    store: store as SellingStore,
    id: id!,
    packageName: packageName!,
    noticedAt: Number(noticedAt),
    unknowns: Number(unknowns),
    faults: Number(faults),
    dueAt: Number(dueAt),
  };
}

export async function postponeNotice(
  purchaseId: string,
  wait: Pick<KeptNotice, 'unknowns' | 'faults' | 'dueAt'>,
  scripts: ScriptRunner,
): Promise<void> {
  await scripts.run(postponeNoticeScript, keysOf(purchaseId), wait);
}

/**
 * Drops a kept notification, unless another notification of the same purchase arrived after `askedAt`.
 * @returns whether the notification was dropped
 */
export async function dropNotice(purchaseId: string, askedAt: number | '', scripts: ScriptRunner): Promise<boolean> {
  const [word] = await scripts.run(dropNoticeScript, keysOf(purchaseId), { askedAt });
  return word === 'dropped';
}
