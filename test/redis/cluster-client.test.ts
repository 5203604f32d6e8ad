import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import { clusterSeedsOf } from '../../src/redis/cluster-url.ts';
import { Cluster } from '../../src/redis/cluster-client.ts';
import { startCluster } from '../cluster-nodes.ts';
import { PATIENT } from '../patience.ts';

/** A node with answers that a test sets. It knows the first commands of a connection. */
class FakeNode {
  port = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  epoch = 1;
  ranges: Range[] = [];
  state = 'ok';
  coverage = 'no';
  appends = 1;
  /** The reply to GET: by default the reply for a missing key. */
  got = '$-1\r\n';
  role = 'master';
  replicas = 0;
  asked = 0;
  silent = false;
  unanswered = 0;

  static async open(): Promise<FakeNode> {
    const fake = new FakeNode();
    await once(fake.#server.listen(0, '127.0.0.1'), 'listening');
    fake.port = (fake.#server.address() as { port: number }).port;
    return fake;
  }

  private constructor() {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
      socket.on('data', (data) => {
        // Commands are few and small: each arrives whole.
        for (const text of String(data).split(/(?=^\*\d+\r\n)/m)) {
          const words = text.split('\r\n').filter((_, index) => index % 2 === 0 && index > 0);
          if (this.silent) this.unanswered++;
          else socket.write(this.#answer(words.map((word) => word.toUpperCase())));
        }
      });
    });
  }

  get connections(): number {
    return this.#sockets.size;
  }

  #answer([command, ...words]: string[]): string {
    if (command === 'HELLO') return `%2\r\n${bulk('server')}${bulk('redis')}${bulk('proto')}:3\r\n`;
    if (command === 'CLUSTER' && words[0] === 'INFO') return lines(`cluster_state:${this.state}`, `cluster_current_epoch:${this.epoch}`);
    if (command === 'CLUSTER') {
      this.asked++;
      const rows = this.ranges.map(([from, to, { port }]) => `*3\r\n:${from}\r\n:${to}\r\n*2\r\n${bulk('127.0.0.1')}:${port}\r\n`);
      return `*${rows.length}\r\n${rows.join('')}`;
    }
    if (command === 'INFO') {
      const own = [`role:${this.role}`, `connected_slaves:${this.replicas}`, `aof_enabled:${this.appends}`];
      return lines('redis_version:7.2.0', 'arch_bits:64', 'cluster_enabled:1', 'maxmemory_policy:noeviction', 'loading:0', ...own);
    }
    if (command === 'CLIENT' && words[0] === 'INFO') return bulk('id=1 db=0');
    if (command === 'CONFIG') return `*2\r\n${bulk('cluster-require-full-coverage')}${bulk(this.coverage)}`;
    if (command === 'GET') return this.got;
    if (command === 'PING') return '+PONG\r\n';
    return '+OK\r\n';
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

type Range = [from: number, to: number, primary: FakeNode];

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
const lines = (...texts: string[]): string => bulk(texts.map((text) => `${text}\r\n`).join(''));

/** Lets nodes announce these ranges, in the next epoch of each. */
function announce(fakeNodes: readonly FakeNode[], ...ranges: Range[]): void {
  for (const fake of fakeNodes) [fake.epoch, fake.ranges] = [fake.epoch + 1, ranges];
}

const wholeOf = (fake: FakeNode): Range => [0, 16_383, fake];
const halvesOf = ([one, other]: readonly FakeNode[]): Range[] => [
  [0, 8191, one!],
  [8192, 16_383, other!],
];

/** What a test has to itself: a client, its log, and nodes. */
class Place implements Disposable {
  readonly #fakes: FakeNode[] = [];
  #cluster: Cluster | undefined;
  readonly logLines: string[] = [];

  get cluster(): Cluster {
    return this.#cluster!;
  }

  get ports(): number[] {
    return this.cluster.shards.map(({ address }) => address.port).toSorted();
  }

  async node(): Promise<FakeNode> {
    const fake = await FakeNode.open();
    this.#fakes.push(fake);
    return fake;
  }

  /** Two nodes with the same map of slots: the first node has the first half. */
  async twoNodes(): Promise<[FakeNode, FakeNode]> {
    const pair: [FakeNode, FakeNode] = [await this.node(), await this.node()];
    announce(pair, ...halvesOf(pair));
    return pair;
  }

  connect(url: string, replicas = 0): Cluster {
    const { seeds, options } = clusterSeedsOf(url);
    const log = pino({ level: 'debug' }, { write: (line: string) => void this.logLines.push(line) });
    return (this.#cluster = new Cluster(seeds, options, replicas, log));
  }

  /** Connects to these nodes. */
  async opened(fakeNodes: readonly FakeNode[], replicas?: number): Promise<void> {
    await this.connect(`redis-cluster://${fakeNodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, replicas).opened();
  }

  untilPortsAre(...nodesOf: FakeNode[]): Promise<void> {
    return vi.waitFor(() => expect(this.ports).toEqual(nodesOf.map(({ port }) => port).toSorted()), PATIENT);
  }

  untilHealthIs(health: object): Promise<void> {
    return vi.waitFor(async () => expect(await this.cluster.health()).toEqual(health), PATIENT);
  }

  [Symbol.dispose](): void {
    this.#cluster?.disconnect();
    for (const fake of this.#fakes) fake.close();
  }
}

// The tests run at the same time, because they mostly wait for the next read of the map.
describe.concurrent('the map', () => {
  test('is read again after a refresh that comes during a read, because the answers to that read may be older', async () => {
    using at = new Place();
    const [one, other] = await at.twoNodes();
    await at.opened([one, other]);
    one.silent = other.silent = true;
    one.unanswered = other.unanswered = 0;
    await vi.waitFor(() => {
      at.cluster.refresh();
      expect(Math.min(one.unanswered, other.unanswered)).toBeGreaterThan(0);
    }, PATIENT);
    // The look under way gets no answer.
    at.cluster.refresh();
    one.silent = other.silent = false;
    one.asked = other.asked = 0;
    await vi.waitFor(() => expect(one.asked + other.asked).toBeGreaterThan(0), PATIENT);
  });

  test('comes from the node that knows the highest epoch, not from one that answers for slots that it lost', async () => {
    using at = new Place();
    const [one, other] = await at.twoNodes();
    await at.opened([one, other]);
    announce([other], wholeOf(other));
    await at.untilPortsAre(other);
    for (let read = 0; read < 10; read++) {
      at.cluster.refresh();
      await pause(30);
      expect(at.ports).toEqual([other.port]);
    }
  });

  test('of a newly created cluster is used after a while, although its epoch is lower', async () => {
    using at = new Place();
    const [one, other] = await at.twoNodes();
    one.epoch = other.epoch = 9;
    await at.opened([one, other]);
    one.epoch = other.epoch = 0;
    announce([one, other], wholeOf(other));
    await vi.waitFor(() => expect(at.ports).toEqual([other.port]), PATIENT);
  });

  test('that drops a primary twice leaves it time for its last answers each time, and then keeps no connections to it', async () => {
    using at = new Place();
    const [one, other] = await at.twoNodes();
    await at.opened([one]);
    const { connections } = other;
    expect(connections).toBeGreaterThan(0);
    const take = async (...ranges: Range[]): Promise<void> => {
      announce([one, other], ...ranges);
      at.cluster.refresh();
      await vi.waitFor(() => expect(at.cluster.shards).toHaveLength(ranges.length), PATIENT);
    };
    await take(wholeOf(one));
    await pause(1500);
    await take(...halvesOf([one, other]));
    await pause(1000);
    await take(wholeOf(one));
    await pause(1000);
    expect(other.connections).toBe(connections);
    await vi.waitFor(() => expect(other.connections).toBe(0), PATIENT);
  });
});

describe.concurrent('health', () => {
  test('names slots without an owner', async () => {
    using at = new Place();
    const pair = await at.twoNodes();
    announce(pair, [0, 16_000, pair[0]]);
    await at.opened(pair);
    await at.untilHealthIs({ ok: true, degraded: ['no primary serves the slots 16001-16383'] });
  });

  test('names an announced address that cannot be reached, and why', async () => {
    using at = new Place();
    const [one, other] = await at.twoNodes();
    other.close();
    await at.opened([one]);
    const line = `127.0.0.1:${other.port}: connect ECONNREFUSED 127.0.0.1:${other.port}; the nodes announce this address, and it has never been reached (slots 8192-16383)`;
    await at.untilHealthIs({ ok: true, degraded: [line] });
  });

  test('is not ready if no primary can be reached, and gives the reason for each', async () => {
    using at = new Place();
    const [pair, replica] = [await at.twoNodes(), await at.node()];
    replica.role = 'slave';
    announce([replica], ...halvesOf(pair));
    for (const fake of pair) fake.close();
    await at.opened([replica]);
    const problem = expect.stringMatching(/ECONNREFUSED.*ECONNREFUSED/);
    await at.untilHealthIs({ ok: false, problem });
  });

  test('names a primary that serves nothing, which is away since then, and the setting by which one slot without a primary stops all', async () => {
    using at = new Place();
    const [one, other] = await at.twoNodes();
    one.coverage = other.coverage = 'yes';
    await at.opened([one, other]);
    await vi.waitFor(() => expect(at.logLines.filter((line) => line.includes('cluster-require-full-coverage'))).toHaveLength(1), PATIENT);
    expect(await at.cluster.health()).toEqual({ ok: true });
    const untilAway = (...away: boolean[]) =>
      vi.waitFor(() => expect([0, 16_000].map((slot) => at.cluster.shardOf(slot)!.awaySince !== undefined)).toEqual(away), PATIENT);
    await untilAway(false, false);
    one.state = 'fail';
    const line = `127.0.0.1:${one.port}: serves nothing, because its cluster_state is fail: with cluster-require-full-coverage yes one slot without a primary stops all of them (slots 0-8191)`;
    await at.untilHealthIs({ ok: true, degraded: [line] });
    await untilAway(true, false);
    one.state = 'ok';
    await untilAway(false, false);
  });

  test('names a primary with fewer replicas than REDIS_WAIT_REPLICAS, which still serves', async () => {
    using at = new Place();
    const [one, other] = await at.twoNodes();
    other.replicas = 1;
    await at.opened([one, other], 1);
    const line = `127.0.0.1:${one.port}: acknowledges no coin operation: it has 0 replicas, and REDIS_WAIT_REPLICAS is 1 (slots 0-8191)`;
    await at.untilHealthIs({ ok: true, degraded: [line] });
    other.replicas = 0;
    await at.untilHealthIs({ ok: true, degraded: expect.objectContaining({ length: 2 }) });
  });

  test('warns of each primary that keeps no append-only file', async () => {
    using at = new Place();
    const [one, other] = await at.twoNodes();
    one.appends = 0;
    await at.opened([one, other]);
    const warnings = () => at.logLines.filter((line) => line.includes('set appendonly to yes'));
    await vi.waitFor(() => expect(warnings()).toEqual([expect.stringContaining(`127.0.0.1:${one.port}`)]), PATIENT);
  });

  test('names a seed that is no node of a cluster', async () => {
    using at = new Place();
    const lone = await at.node();
    await at.opened([lone]);
    const problem = `no node of the cluster told which primaries serve; 127.0.0.1:${lone.port}: it knows of no primary that serves slots`;
    await at.untilHealthIs({ ok: false, problem });
  });
});

test.concurrent.each(['ASK 1 127.0.0.1:1', 'TRYAGAIN Multiple keys request during rehashing of slot', 'CLUSTERDOWN Hash slot not served'])(
  'a primary that answers the read of the data version with %s is used',
  async (refusal) => {
    using at = new Place();
    const pair = await at.twoNodes();
    for (const fake of pair) fake.got = `-${refusal}\r\n`;
    await at.opened(pair);
    const states = () => at.cluster.shards.map(({ scripts, redis, subscriber }) => [scripts.isReady, redis.status, subscriber.isReady]);
    const ready = [true, 'ready', true];
    await vi.waitFor(() => expect(states()).toEqual([ready, ready]), PATIENT);
    // The connection would be closed a moment after it was ready.
    await pause(50);
    expect(states()).toEqual([ready, ready]);
  },
);

test.concurrent('a primary with another password is named, and the others serve', async () => {
  using at = new Place();
  await using nodes = await startCluster();
  const [first] = nodes.nodes;
  at.connect(nodes.url);
  await at.cluster.opened();
  await first!.call('CONFIG', 'SET', 'requirepass', 'other');
  await first!.call('CLIENT', 'KILL', 'TYPE', 'normal').catch(() => {});
  await vi.waitFor(async () => {
    const { ok, degraded } = await at.cluster.health();
    expect([ok, degraded]).toEqual([true, [expect.stringMatching(`^127.0.0.1:${first!.port}: .*NOAUTH`)]]);
  }, PATIENT);
  expect(at.cluster.shardOf(16_000)!.scripts.isReady).toBe(true);
});
