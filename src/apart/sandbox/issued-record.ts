import { read } from '../../redis/reads.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';

/**
 * The Redis hash for a purchase token: the JSON `issued` that the sandbox has issued, and the time at which the purchase was consumed
 * (`consumedAt`) or acknowledged (`acknowledgedAt`).
 */

type Finish = 'consumedAt' | 'acknowledgedAt';

/** Records when the purchase was consumed or acknowledged. If there is one, the first time stays. */
export const finishScript = defineScript({
  name: 'sandbox/finish-issued',
  lua: `return {redis.call('EXISTS', record) == 1 and redis.call('HSETNX', record, finish, now) and 'finished' or 'unknown'}`,
  keys: ['record'],
  args: ['finish'],
  answers: ['finished', 'unknown'],
  durable: true,
});

/**
 * Records what the sandbox has issued for a purchase token, unless the record has changed since it was read. `seen` is the JSON as it was
 * read, '' for a new record, or '*' to overwrite any record.
 */
export const keepScript = defineScript({
  name: 'sandbox/keep-issued',
  lua: `if seen ~= '*' and (redis.call('HGET', record, 'issued') or '') ~= seen then return {'changed'} end
    redis.call('HSET', record, 'issued', issued)
    redis.call('EXPIRE', record, kept_seconds)
    return {'kept'}`,
  keys: ['record'],
  args: ['issued', 'seen', 'keptSeconds'],
  answers: ['kept', 'changed'],
  durable: true,
});

export interface KeptRecord<Issued> {
  readonly issued: Issued;
  readonly isFinished: boolean;
  /** The JSON of `issued` as it was read. `keepIssued` needs it to notice a change. */
  readonly seen: string;
}

export async function readIssued<Issued>(scripts: ScriptRunner, record: string, finish: Finish): Promise<KeptRecord<Issued> | undefined> {
  const [seen = '', finishedAt] = await read(scripts, 'HMGET', record, 'issued', finish);
  return seen === '' ? undefined : { issued: JSON.parse(seen) as Issued, isFinished: finishedAt !== '', seen };
}

export async function finishIssued(scripts: ScriptRunner, record: string, finish: Finish): Promise<void> {
  await scripts.run(finishScript, { record }, { finish });
}

/**
 * Records what was issued. Whether it was finished does not change.
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
