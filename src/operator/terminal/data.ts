import { pino } from 'pino';
import { keySecretKind } from '../../features/coins/secret-keys.ts';
import { Reason } from '../operation.ts';
import { Failure } from '../../process/command.ts';
import { DataIdFile, readDataId, readNewest } from '../../process/data-id-file.ts';
import { acceptCluster } from '../../redis/data/accept-cluster.ts';
import { acceptData, anyIdIn, DATA_ID_KEY, foreignId, idIn, newDataId, readId, successorOf } from '../../redis/data/data-id.ts';
import { refusalsIn } from '../../redis/data/data-refusal.ts';
import { findOlder, textOfOlder, type OlderData } from '../../redis/data/describe-older-data.ts';
import { slotOf } from '../../redis/slots.ts';
import type { ForeignValue } from '../../redis/text-key.ts';
import type { Command, Tool } from './command.ts';
import { loggedChange } from './operate.ts';

const show: Command = {
  summary: 'Shows the id of the data, and the id that a service with this DATA_DIR knows.',
  role: 'viewer',
  plan: () => async (tool) => {
    const { id, foreign, refusals } = await dataIn(tool);
    const known = readDataId(tool.config.DATA_DIR);
    const older = await olderIn(tool, id);
    return {
      text: [
        `In Redis: ${id ?? 'none'}`,
        `In DATA_DIR: ${known ?? 'none'}`,
        ...(foreign === undefined ? [] : [foreign.message]),
        ...refusals.map((refusal) => `The services refuse the data: ${refusal}.`),
        ...(older === undefined ? [] : [`The data in Redis is ${textOfOlder(older)}.`]),
      ].join('\n'),
      json: {
        id,
        known,
        ...(foreign === undefined ? {} : { problem: foreign.message }),
        ...(refusals.length === 0 ? {} : { refusals }),
        ...(older === undefined ? {} : { older }),
      },
    };
  },
};

const accept: Command = {
  summary: 'Lets the services use the data that is now in Redis, in place of lost data.',
  role: 'admin',
  flags: { reason: { value: 'TEXT', summary: 'why, for other operators' } },
  changes: true,
  plan({ flags: { reason = '' } }) {
    if (reason !== '' && !Reason.safeParse(reason).success) throw new Failure('--reason takes one line of up to 120 characters.');
    return async (tool) => {
      const { id: seen, foreign, refusals } = await dataIn(tool);
      const known = readDataId(tool.config.DATA_DIR);
      const lost = seen ?? known;
      const to = lost === undefined ? newDataId() : successorOf(lost);
      const nameless = foreign === undefined ? 'Redis as it is, without data of coinop' : 'the data without an id in Redis as it is';
      const what = seen === undefined ? nameless : `the data ${seen} in Redis as it is`;
      const older = await olderIn(tool, seen);
      const age = older === undefined ? '' : ` It is ${textOfOlder(older)}.`;
      const refused = refusals.map((refusal) => ` The services refuse it: ${refusal}.`).join('');
      await tool.confirm(`Serve ${what}?${refused}${age} What was lost cannot be brought back into it later.`);
      const change = { action: 'data accept', what: { ...(seen === undefined ? {} : { before: seen }), id: to }, why: reason };
      await loggedChange(tool, change, () => acceptAll(tool, seen, to));
      if (known !== undefined) new DataIdFile(tool.config.DATA_DIR, pino({ level: 'silent' })).write(to);
      return {
        text: `Accepted: the data has the id ${to} now. Running services serve it within a second. Start one that had other data and was stopped with ACCEPT_DATA=${to}.`,
        json: { id: to, before: seen },
      };
    };
  },
};

export const dataCommands = { show, accept };

interface FoundData {
  readonly id: string | undefined;
  /** Set if the value under the key of the id is no id. */
  readonly foreign: ForeignValue | undefined;
  /** The refusals of the data, found by `refusalsIn`. */
  readonly refusals: readonly string[];
}

/** The data in Redis. @throws Failure if the primary that has its id is unavailable */
async function dataIn({ connections: { source } }: Tool): Promise<FoundData> {
  const refusals = await refusalsIn(source);
  if (!('shards' in source)) return { id: anyIdIn(await readId(source)), foreign: await foreignId(source), refusals };
  const home = source.shardOf(slotOf(DATA_ID_KEY))?.redis;
  if (home?.status !== 'ready') throw new Failure('The primary that has the id of the data is unavailable. Nothing was changed.');
  const ofSlots = await Promise.all(source.shards.map(({ redis, place }) => readId(redis, `${place()}${DATA_ID_KEY}`).catch(() => null)));
  const id = idIn(await readId(home)) ?? ofSlots.map(idIn).find((found) => found !== undefined);
  return { id, foreign: await foreignId(home), refusals };
}

/** Whether the data in Redis is older than the state that the services of DATA_DIR have seen. */
async function olderIn({ config, connections: { source } }: Tool, id: string | undefined): Promise<OlderData | undefined> {
  if (id === undefined) return undefined;
  const redisOf = (key: string) => ('shards' in source ? source.shardOf(slotOf(key))?.redis : source);
  return findOlder(id, readNewest(config.DATA_DIR, id), async (key) => {
    const redis = redisOf(key);
    return redis === undefined ? null : readId(redis, key);
  });
}

async function acceptAll({ connections: { source }, scripts }: Tool, seen: string | undefined, to: string): Promise<void> {
  if ('shards' in source) {
    await acceptCluster(source, { to, secret: keySecretKind }).catch((error: Error) => {
      throw new Failure(`${error.message.replace(/^./, (letter) => letter.toUpperCase())}.`);
    });
    return;
  }
  const [word] = await scripts.run(acceptData, { id: DATA_ID_KEY }, { seen: seen ?? '', to });
  if (word === 'changed') throw new Failure('The data was changed in the meantime. Nothing was accepted. Run the command again.');
}
