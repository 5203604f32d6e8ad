import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';

/**
 * What the sandbox has issued for a purchase token: a hash with the JSON `issued`, and when the purchase was consumed (`consumedAt`) or
 * acknowledged (`acknowledgedAt`).
 */

type Mark = 'consumedAt' | 'acknowledgedAt';

/** Answers issued(JSON, or ''; whether the record has the mark, 0|1). */
const readScript = defineScript({
  name: 'sandbox/read-issued',
  lua: `return {'issued', redis.call('HGET', record, 'issued') or '', string.format('%d', redis.call('HEXISTS', record, mark))}`,
  keys: ['record'],
  args: ['mark'],
  answers: ['issued'],
  readOnly: true,
});

/** Records the time of a mark. If the record has the mark, the first time stays. */
const markScript = defineScript({
  name: 'sandbox/mark-issued',
  lua: `return {redis.call('EXISTS', record) == 1 and redis.call('HSETNX', record, mark, now) and 'marked' or 'unknown'}`,
  keys: ['record'],
  args: ['mark'],
  answers: ['marked', 'unknown'],
  durable: true,
});

const keepScript = defineScript({
  file: new URL('keep-issued.lua', import.meta.url),
  keys: ['record'],
  args: ['issued', 'seen', 'keptSeconds'],
  answers: ['kept', 'changed'],
  durable: true,
});

export interface KeptRecord<Issued> {
  readonly issued: Issued;
  readonly isMarked: boolean;
  /** The JSON of `issued` as it was read. `keepIssued` needs it to notice a change. */
  readonly seen: string;
}

export async function readIssued<Issued>(scripts: ScriptRunner, record: string, mark: Mark): Promise<KeptRecord<Issued> | undefined> {
  const [, seen = '', isMarked] = await scripts.run(readScript, { record }, { mark });
  return seen === '' ? undefined : { issued: JSON.parse(seen) as Issued, isMarked: isMarked === '1', seen };
}

export async function markIssued(scripts: ScriptRunner, record: string, mark: Mark): Promise<void> {
  await scripts.run(markScript, { record }, { mark });
}

/**
 * Records what was issued. The marks stay.
 * @param seen the JSON that was read before the change; '' for a new record, '*' for a change of any
 * @returns false if another call has changed the record since it was read
 */
export async function keepIssued(
  scripts: ScriptRunner,
  record: string,
  issued: object,
  { seen, keptSeconds }: { readonly seen: string; readonly keptSeconds: number },
): Promise<boolean> {
  const [word] = await scripts.run(keepScript, { record }, { issued: JSON.stringify(issued), seen, keptSeconds });
  return word === 'kept';
}
