import { expect, test } from 'vitest';
import { Unfinished, Unsettled, type Command } from '../../src/consistency/auditor.ts';
import type { NodeReader } from '../../src/consistency/cluster-nodes.ts';
import { ClusterReader } from '../../src/consistency/cluster-reader.ts';
import type { Reply } from '../../src/redis/resp.ts';

type Answer = (port: number, words: string) => Reply;

/**
 * A Cluster whose map names the node of port 1 for every slot.
 * @param answer replies to a command, as text, on the node of a port
 */
function readerOf(answer: Answer, patienceMs?: number): { reader: ClusterReader; sent: string[] } {
  const sent: string[] = [];
  const run = (port: number, commands: readonly Command[]): Reply[] =>
    commands.map((command) => {
      sent.push(`${port} ${command.join(' ')}`);
      const reply = answer(port, command.join(' '));
      if (reply instanceof Error) throw reply;
      return reply;
    });
  const nodes = [1, 2, 3].map((port) => ({
    ask: async (command: Command, prefix: readonly Command[] = []) => run(port, [...prefix, command]).at(-1)!,
    atomically: async (commands: readonly Command[], prefix: readonly Command[] = []) =>
      run(port, [...prefix, ['MULTI'], ...commands]).slice(-commands.length),
  })) as NodeReader[];
  const map = { shardOf: () => ({ address: { host: 'h', port: 1 } }), refresh: () => {} };
  const reader = new ClusterReader(map, { reader: async ({ port }) => nodes[port - 1]! }, patienceMs);
  return { reader, sent };
}

test('a read follows MOVED, and ASK with ASKING', async () => {
  const { reader, sent } = readerOf((port, words) => {
    if (words === 'ASKING') return 'OK';
    if (port === 1) return new Error('MOVED 7 h:2');
    return port === 2 ? new Error('ASK 7 h:3') : 'value';
  });
  expect(await reader.ask(['GET', '{a}k'])).toBe('value');
  expect(sent).toEqual(['1 GET {a}k', '2 GET {a}k', '3 ASKING', '3 GET {a}k']);
});

test('while a slot moves, keys are read one by one with values of one moment', async () => {
  const { reader } = readerOf((_, words) => {
    if (words === 'MULTI' || words.split(' ').length > 2) return new Error('TRYAGAIN Multiple keys request during rehashing of slot');
    return words === 'GET {a}1' ? 'one' : 1;
  });
  expect(await reader.ask(['EXISTS', '{a}1', '{a}2', '{a}3'])).toBe(3);
  expect(
    await reader.atomically([
      ['GET', '{a}1'],
      ['EXISTS', '{a}2', '{a}3'],
    ]),
  ).toEqual(['one', 2]);
});

test('keys of several slots are read in rounds until two of them agree', async () => {
  let reads = 0;
  const commands: Command[] = ['{a}1', '{b}1'].map((key) => ['GET', key]);
  const settled = readerOf((_, words) => (words === 'GET {a}1' ? 'a' : String(Math.min(++reads, 3))));
  expect(await settled.reader.atomically(commands)).toEqual(['a', '3']);
  expect(reads).toBe(4);
  const restless = readerOf(() => String(++reads));
  await expect(restless.reader.atomically(commands)).rejects.toThrow(Unsettled);
});

test('a cursor is used only on the connection that gave it', async () => {
  let isMoved = false;
  const { reader } = readerOf((port, words) => {
    if (isMoved && port === 1) return new Error('MOVED 7 h:2');
    return words.startsWith('HSCAN {a}h 0') ? ['12', ['f', 'v']] : ['0', ['g', 'w']];
  });
  const [cursor] = (await reader.ask(['HSCAN', '{a}h', '0', 'COUNT', 2])) as [string];
  expect(await reader.ask(['HSCAN', '{a}h', cursor, 'COUNT', 2])).toEqual(['0', ['g', 'w']]);
  isMoved = true;
  await expect(reader.ask(['HSCAN', '{a}h', cursor, 'COUNT', 2])).rejects.toThrow(Unsettled);
});

test('an audit ends with a clear message if no node serves a slot for too long', async () => {
  const { reader } = readerOf(() => new Error('CLUSTERDOWN The cluster is down'), 100);
  const failed: unknown = await reader.ask(['GET', '{a}1']).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(Unfinished);
  expect((failed as Error).message).toMatch(
    /^No node of the cluster has served slot 15495 for .* \(CLUSTERDOWN The cluster is down\): nothing is proven\./,
  );
});
