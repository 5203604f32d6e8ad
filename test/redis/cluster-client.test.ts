import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { clusterSeedsOf } from '../../src/redis/cluster-url.ts';
import { Cluster } from '../../src/redis/cluster-client.ts';
import { startCluster, type TestCluster } from '../cluster-nodes.ts';

const WAIT = { timeout: 6000, interval: 20 };

let nodes: TestCluster | undefined;
let fakes: FakeNode[] = [];
let cluster: Cluster;
let logLines: string[];

function connect(url: string, replicas = 0): Cluster {
  logLines = [];
  const { seeds, options } = clusterSeedsOf(url);
  cluster = new Cluster(seeds, options, replicas, pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) }));
  return cluster;
}

afterEach(async () => {
  cluster.disconnect();
  await nodes?.[Symbol.asyncDispose]();
  nodes = undefined;
  for (const fake of fakes) fake.close();
  fakes = [];
});

/** A node with answers that a test sets. It knows the first commands of a connection. */
class FakeNode {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  epoch = 1;
  ranges: [from: number, to: number, host: string, port: number][] = [];
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
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const fake = new FakeNode(server, (server.address() as { port: number }).port);
    fakes.push(fake);
    return fake;
  }

  constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
    server.on('connection', (socket) => {
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
    if (command === 'CLUSTER' && words[0] === 'INFO') return bulk(`cluster_state:${this.state}\r\ncluster_current_epoch:${this.epoch}\r\n`);
    if (command === 'CLUSTER') {
      this.asked++;
      const rows = this.ranges.map(([from, to, host, port]) => `*3\r\n:${from}\r\n:${to}\r\n*2\r\n${bulk(host)}:${port}\r\n`);
      return `*${rows.length}\r\n${rows.join('')}`;
    }
    if (command === 'INFO')
      return bulk(
        `redis_version:7.2.0\r\narch_bits:64\r\ncluster_enabled:1\r\nrole:${this.role}\r\nconnected_slaves:${this.replicas}\r\nmaxmemory_policy:noeviction\r\nloading:0\r\naof_enabled:${this.appends}\r\n`,
      );
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

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`;

const portsOf = (): number[] => cluster.shards.map(({ address }) => address.port).toSorted();

/** Two nodes with the same map of slots: the first node has the first half. */
async function twoNodes(): Promise<[FakeNode, FakeNode]> {
  const pair: [FakeNode, FakeNode] = [await FakeNode.open(), await FakeNode.open()];
  for (const fake of pair) {
    fake.ranges = [
      [0, 8191, '127.0.0.1', pair[0].port],
      [8192, 16_383, '127.0.0.1', pair[1].port],
    ];
  }
  return pair;
}

const urlOf = (...fakeNodes: FakeNode[]): string => `redis-cluster://${fakeNodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;

describe('the map', () => {
  test('is read again after a refresh that comes during a read, because the answers to that read may be older', async () => {
    const [one, other] = await twoNodes();
    connect(urlOf(one, other));
    await cluster.opened();
    one.silent = other.silent = true;
    one.unanswered = other.unanswered = 0;
    await vi.waitFor(() => {
      cluster.refresh();
      expect(Math.min(one.unanswered, other.unanswered)).toBeGreaterThan(0);
    }, WAIT);
    // The look under way gets no answer.
    cluster.refresh();
    one.silent = other.silent = false;
    one.asked = other.asked = 0;
    await vi.waitFor(() => expect(one.asked + other.asked).toBeGreaterThan(0), { timeout: 900, interval: 5 });
  });

  test('is still read regularly after a listener has failed', async () => {
    const [one, other] = await twoNodes();
    connect(urlOf(one, other));
    await cluster.opened();
    cluster.once('moved', () => {
      throw new Error('a listener failed');
    });
    one.epoch = 2;
    one.ranges = [[0, 16_383, '127.0.0.1', one.port]];
    cluster.refresh();
    await vi.waitFor(() => expect(logLines.join()).toContain('a listener failed'), WAIT);
    one.epoch = 3;
    one.ranges = [[0, 16_383, '127.0.0.1', other.port]];
    await vi.waitFor(() => expect(portsOf()).toEqual([other.port]), WAIT);
  });

  test('comes from the node that knows the highest epoch, not from one that answers for slots that it lost', async () => {
    const [one, other] = await twoNodes();
    connect(urlOf(one, other));
    await cluster.opened();
    other.epoch = 2;
    other.ranges = [[0, 16_383, '127.0.0.1', other.port]];
    await vi.waitFor(() => expect(portsOf()).toEqual([other.port]), WAIT);
    for (let look = 0; look < 10; look++) {
      cluster.refresh();
      await pause(30);
      expect(portsOf()).toEqual([other.port]);
    }
  });

  test('does not wait for a node that hangs', async () => {
    const [one, other] = await twoNodes();
    connect(urlOf(one, other));
    await cluster.opened();
    one.silent = true;
    other.epoch = 2;
    other.ranges = [[0, 16_383, '127.0.0.1', other.port]];
    const startedAt = performance.now();
    cluster.refresh();
    await vi.waitFor(() => expect(portsOf()).toEqual([other.port]), WAIT);
    expect(performance.now() - startedAt).toBeLessThan(400);
  });

  test('of a newly created cluster is used after a while, although its epoch is lower', async () => {
    const [one, other] = await twoNodes();
    one.epoch = other.epoch = 9;
    connect(urlOf(one, other));
    await cluster.opened();
    one.epoch = other.epoch = 1;
    one.ranges = other.ranges = [[0, 16_383, '127.0.0.1', other.port]];
    await vi.waitFor(() => expect(portsOf()).toEqual([other.port]), { timeout: 12_000, interval: 50 });
  }, 20_000);

  test('that changes every 100 ms leaves no connections behind', async () => {
    const [one, other] = await twoNodes();
    connect(urlOf(one, other));
    await cluster.opened();
    const usual = [one.connections, other.connections];
    for (let round = 0; round < 20; round++) {
      for (const fake of [one, other]) {
        fake.epoch++;
        fake.ranges = [[0, 16_383, '127.0.0.1', [one, other][round % 2]!.port]];
      }
      cluster.refresh();
      await pause(100);
    }
    const whole = await twoNodesAgain(one, other);
    cluster.refresh();
    await vi.waitFor(() => expect(portsOf()).toEqual(whole), WAIT);
    await vi.waitFor(() => expect([one.connections, other.connections]).toEqual(usual), WAIT);
    expect((await cluster.health()).degraded).toBeUndefined();
  }, 20_000);

  test('that drops a primary twice leaves it time for its last answers each time', async () => {
    const [one, other] = await twoNodes();
    connect(urlOf(one));
    await cluster.opened();
    const { connections } = other;
    const take = async (epoch: number, ...ranges: FakeNode['ranges']): Promise<void> => {
      for (const fake of [one, other]) [fake.epoch, fake.ranges] = [epoch, ranges];
      cluster.refresh();
      await vi.waitFor(() => expect(cluster.shards).toHaveLength(ranges.length), WAIT);
    };
    const whole: FakeNode['ranges'][number] = [0, 16_383, '127.0.0.1', one.port];
    await take(2, whole);
    await pause(1500);
    await take(3, [0, 8191, '127.0.0.1', one.port], [8192, 16_383, '127.0.0.1', other.port]);
    await pause(1000);
    await take(4, whole);
    await pause(1000);
    expect(other.connections).toBe(connections);
  }, 20_000);

  test('keeps no connections to nodes that have left', async () => {
    const [one, other] = await twoNodes();
    connect(urlOf(one));
    await cluster.opened();
    expect(other.connections).toBeGreaterThan(0);
    one.epoch = 2;
    one.ranges = [[0, 16_383, '127.0.0.1', one.port]];
    await vi.waitFor(() => expect([portsOf(), other.connections]).toEqual([[one.port], 0]), WAIT);
  }, 20_000);
});

async function twoNodesAgain(one: FakeNode, other: FakeNode): Promise<number[]> {
  for (const fake of [one, other]) {
    fake.epoch++;
    fake.ranges = [
      [0, 8191, '127.0.0.1', one.port],
      [8192, 16_383, '127.0.0.1', other.port],
    ];
  }
  return [one.port, other.port].toSorted();
}

describe('health', () => {
  test('names slots without an owner', async () => {
    const [one, other] = await twoNodes();
    one.ranges = other.ranges = [[0, 16_000, '127.0.0.1', one.port]];
    connect(urlOf(one, other));
    await vi.waitFor(
      async () => expect(await cluster.health()).toEqual({ ok: true, degraded: ['no primary serves the slots 16001-16383'] }),
      WAIT,
    );
  });

  test('names an announced address that cannot be reached, and why', async () => {
    const [one, other] = await twoNodes();
    other.close();
    connect(urlOf(one));
    const line = `127.0.0.1:${other.port}: connect ECONNREFUSED 127.0.0.1:${other.port}; the nodes announce this address, and it has never been reached (slots 8192-16383)`;
    await vi.waitFor(async () => expect(await cluster.health()).toEqual({ ok: true, degraded: [line] }), WAIT);
  });

  test('is not ready if no primary can be reached, and gives the reason for each', async () => {
    const [one, other] = await twoNodes();
    const replica = await FakeNode.open();
    replica.role = 'slave';
    replica.ranges = one.ranges;
    one.close();
    other.close();
    connect(urlOf(replica));
    await vi.waitFor(async () => {
      const { ok, problem } = await cluster.health();
      expect([ok, problem?.match(/ECONNREFUSED/g)?.length]).toEqual([false, 2]);
    }, WAIT);
  });

  test('names a primary that serves nothing, and the setting by which one slot without a primary stops all', async () => {
    const [one, other] = await twoNodes();
    one.coverage = other.coverage = 'yes';
    connect(urlOf(one, other));
    await cluster.opened();
    await vi.waitFor(() => expect(logLines.filter((line) => line.includes('cluster-require-full-coverage'))).toHaveLength(1), WAIT);
    expect(await cluster.health()).toEqual({ ok: true });
    one.state = 'fail';
    expect((await cluster.health()).degraded).toEqual([
      `127.0.0.1:${one.port}: serves nothing, because its cluster_state is fail: with cluster-require-full-coverage yes one slot without a primary stops all of them (slots 0-8191)`,
    ]);
  });

  test('a primary that refuses all calls counts as away since then', async () => {
    const [one, other] = await twoNodes();
    connect(urlOf(one, other));
    await cluster.opened();
    const away = (): boolean[] => [0, 16_000].map((slot) => cluster.shardOf(slot)!.awaySince !== undefined);
    expect(away()).toEqual([false, false]);
    one.state = 'fail';
    await vi.waitFor(() => expect(away()).toEqual([true, false]), WAIT);
    one.state = 'ok';
    await vi.waitFor(() => expect(away()).toEqual([false, false]), WAIT);
  });

  test('names a primary with fewer replicas than REDIS_WAIT_REPLICAS, which still serves', async () => {
    const [one, other] = await twoNodes();
    other.replicas = 1;
    connect(urlOf(one, other), 1);
    await cluster.opened();
    const line = `127.0.0.1:${one.port}: acknowledges no coin operation: it has 0 replicas, and REDIS_WAIT_REPLICAS is 1 (slots 0-8191)`;
    await vi.waitFor(async () => expect(await cluster.health()).toEqual({ ok: true, degraded: [line] }), WAIT);
    other.replicas = 0;
    expect((await cluster.health()).degraded).toHaveLength(2);
    expect((await cluster.health()).ok).toBe(true);
  });

  test('warns of each primary that keeps no append-only file', async () => {
    const [one, other] = await twoNodes();
    one.appends = 0;
    connect(urlOf(one, other));
    await cluster.opened();
    await vi.waitFor(() => expect(logLines.filter((line) => line.includes('set appendonly to yes'))).toHaveLength(1), WAIT);
    expect(logLines.find((line) => line.includes('set appendonly to yes'))).toContain(`127.0.0.1:${one.port}`);
  });

  test('names a seed that is no node of a cluster', async () => {
    const lone = await FakeNode.open();
    connect(urlOf(lone));
    await vi.waitFor(
      async () =>
        expect(await cluster.health()).toEqual({
          ok: false,
          problem: `no node of the cluster told which primaries serve; 127.0.0.1:${lone.port}: it knows of no primary that serves slots`,
        }),
      WAIT,
    );
  });
});

test.each(['ASK 1 127.0.0.1:1', 'TRYAGAIN Multiple keys request during rehashing of slot', 'CLUSTERDOWN Hash slot not served'])(
  'a primary that answers the read of the data version with %s is used',
  async (refusal) => {
    const [one, other] = await twoNodes();
    one.got = other.got = `-${refusal}\r\n`;
    connect(urlOf(one, other));
    await vi.waitFor(() => expect(cluster.shards.map(({ scripts }) => scripts.isReady)).toEqual([true, true]), WAIT);
    // The connection would be closed a moment after it was ready.
    await pause(50);
    expect(cluster.shards.map(({ redis, subscriber }) => [redis.status, subscriber.isReady])).toEqual([
      ['ready', true],
      ['ready', true],
    ]);
  },
);

test('a primary with another password is named, and the others serve', async () => {
  nodes = await startCluster();
  const [first] = nodes.nodes;
  connect(nodes.url);
  await cluster.opened();
  await first!.call('CONFIG', 'SET', 'requirepass', 'other');
  await first!.call('CLIENT', 'KILL', 'TYPE', 'normal').catch(() => {});
  await vi.waitFor(async () => {
    const { ok, degraded } = await cluster.health();
    expect([ok, degraded?.length]).toEqual([true, 1]);
    expect(degraded![0]).toMatch(new RegExp(`^127.0.0.1:${first!.port}: .*NOAUTH`));
  }, WAIT);
  expect(cluster.shardOf(16_000)!.scripts.isReady).toBe(true);
}, 30_000);
