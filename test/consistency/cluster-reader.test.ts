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
