import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { type ClusterOptions, retried, TestCluster, type Layout, type TestNode } from './cluster-nodes.ts';
import { freePorts } from './free-port.ts';

/**
 * Starts a cluster like `startCluster`, with a TCP proxy in front of each port of each node. Clients and nodes learn the ports of
 * the proxies only. The methods of the cluster then do what a network does: cut nodes off from each other, delay what
 * replicas get, and swallow what clients send.
 */
export async function startProxiedCluster(options: ClusterOptions = {}): Promise<ProxiedCluster> {
  const count = (options.primaries ?? 3) * (1 + (options.replicas ?? 0));
  return retried(async () => {
    const first = await freePorts(4 * count);
    const ports = Array.from({ length: count }, (_, index) => first + index);
    const places = ports.map((port, index) => ({
      port: port + 2 * count,
      busPort: port + 3 * count,
      announced: { port, busPort: port + count },
      // Each node speaks from an address of its own, by which a proxy knows who connects.
      settings: ['--bind-source-addr', addressOf(index)],
    }));
    return new ProxiedCluster(options, { places, ports }).open();
  });
}

const SOURCE = /^(?:::ffff:)?127\.0\.1\.(\d+)$/;
const addressOf = (index: number): string => `127.0.1.${index + 1}`;

export class ProxiedCluster extends TestCluster {
  readonly #places: Layout['places'];
  readonly #servers: Server[] = [];
  readonly #wires = new Set<Wire>();
  readonly #rules: Rules = { groupOf: [], lagMs: [], isDeaf: [] };

  constructor(options: ClusterOptions, layout: Layout) {
    super(options, layout);
    this.#places = layout.places;
  }

  override async open(): Promise<this> {
    try {
      for (const [to, { port, busPort, announced }] of this.#places.entries()) {
        await this.#listen(announced!.port, port, to, 'client');
        await this.#listen(announced!.busPort, busPort, to, 'bus');
      }
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
    return super.open();
  }

  async #listen(port: number, target: number, to: number, kind: Wire['kind']): Promise<void> {
    const server = createServer((socket) => {
      const source = SOURCE.exec(socket.remoteAddress ?? '')?.[1];
      const wire = new Wire(socket, target, { from: source === undefined ? undefined : Number(source) - 1, to, kind }, this.#rules);
      this.#wires.add(wire);
      wire.closed = () => this.#wires.delete(wire);
    });
    this.#servers.push(server);
    await once(server.listen(port, '127.0.0.1'), 'listening');
  }

  /** The port of a node that clients know. */
  clientPort(node: TestNode): number {
    return this.#places[node.index]!.announced!.port;
  }

  /**
   * Cuts these nodes off from the others: both sides keep their connections, and nothing arrives. Clients reach both sides.
   * Once `heal` is called, what was sent arrives.
   */
  partition(nodes: readonly TestNode[]): void {
    for (const { index } of this.nodes) this.#rules.groupOf[index] = 0;
    for (const { index } of nodes) this.#rules.groupOf[index] = 1;
    this.#apply();
  }

  /** Ends `partition` and `dropClients`. */
  heal(): void {
    this.#rules.groupOf.length = this.#rules.isDeaf.length = 0;
    this.#apply();
  }

  /** Clients of the node keep their connections and get no answer, until `heal`. Other nodes reach it. */
  dropClients(node: TestNode): void {
    this.#rules.isDeaf[node.index] = true;
    this.#apply();
  }

  /** What the node sends its replicas arrives so much later. `kill` destroys what is on its way. 0 ends it. */
  lag(node: TestNode, milliseconds: number): void {
    this.#rules.lagMs[node.index] = milliseconds;
  }

  /** SIGKILL, together with what the node has sent and no other node has received: the end of a machine. */
  override async kill(node: TestNode): Promise<void> {
    for (const wire of this.#wires) if (wire.from === node.index || (wire.to === node.index && wire.from !== undefined)) wire.destroy();
    await super.kill(node);
  }

  /** The open connections to a node: who has opened them, by the index of the node; undefined: a client. */
  wiresOf(node: TestNode): Ends[] {
    return [...this.#wires].filter(({ to }) => to === node.index).map(({ from, to, kind }) => ({ from, to, kind }));
  }

  #apply(): void {
    for (const wire of this.#wires) wire.apply();
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    for (const server of this.#servers) server.close();
    for (const wire of this.#wires) wire.destroy();
  }
}

/** What the proxies do, by the index of a node. */
interface Rules {
  /** Nodes of different groups do not reach each other. */
  readonly groupOf: number[];
  /** How much later replicas get what this node sends. */
  readonly lagMs: number[];
  /** No client gets an answer of this node. */
  readonly isDeaf: boolean[];
}

export interface Ends {
  /** The node that connected; undefined: a client. */
  readonly from: number | undefined;
  readonly to: number;
  readonly kind: 'client' | 'bus';
}

/** One connection through a proxy. */
class Wire {
  readonly from: number | undefined;
  readonly to: number;
  readonly kind: Ends['kind'];
  closed: () => void = () => {};
  readonly #rules: Rules;
  readonly #there: Direction;
  readonly #back: Direction;
  #isCut: boolean;

  constructor(incoming: Socket, target: number, { from, to, kind }: Ends, rules: Rules) {
    [this.from, this.to, this.kind, this.#rules] = [from, to, kind, rules];
    this.#isCut = this.#shouldBeCut();
    const outgoing = connect({ port: target, host: '127.0.0.1', noDelay: true });
    incoming.setNoDelay(true);
    this.#there = new Direction(incoming, outgoing, () => 0);
    // Replicas fetch from the port for clients, so what comes back to a node there is replication.
    const isReplication = kind === 'client' && from !== undefined;
    this.#back = new Direction(outgoing, incoming, () => (isReplication ? (rules.lagMs[to] ?? 0) : 0));
    for (const socket of [incoming, outgoing]) {
      // 'close' follows, and ends the other side.
      socket.on('error', () => {});
      socket.on('close', () => {
        if (incoming.destroyed && outgoing.destroyed) this.closed();
      });
    }
    if (this.#isCut) this.#setCut(true);
  }

  apply(): void {
    if (this.#isCut !== this.#shouldBeCut()) this.#setCut(!this.#isCut);
  }

  destroy(): void {
    this.#there.destroy();
    this.#back.destroy();
  }

  #shouldBeCut(): boolean {
    const { groupOf, isDeaf } = this.#rules;
    return this.from === undefined ? isDeaf[this.to] === true : (groupOf[this.from] ?? 0) !== (groupOf[this.to] ?? 0);
  }

  #setCut(isCut: boolean): void {
    this.#isCut = isCut;
    this.#there.isCut = this.#back.isCut = isCut;
  }
}

/** A delayed chunk, or the end of the connection. */
interface Pending {
  readonly at: number;
  readonly chunk: Buffer | undefined;
}

/** One direction of a connection. It keeps the order, and delivers what it has when it is no longer cut. */
class Direction {
  readonly #source: Socket;
  readonly #target: Socket;
  readonly #lagMs: () => number;
  readonly #pending: Pending[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isCut = false;

  constructor(source: Socket, target: Socket, lagMs: () => number) {
    [this.#source, this.#target, this.#lagMs] = [source, target, lagMs];
    source.on('data', (chunk: Buffer) => this.#take(chunk));
    source.on('close', () => this.#take(undefined));
    target.on('drain', () => this.#source.resume());
  }

  set isCut(isCut: boolean) {
    this.#isCut = isCut;
    this.#deliver();
  }

  /** Ends the connection at once. What is pending never arrives. */
  destroy(): void {
    clearTimeout(this.#timer);
    this.#pending.length = 0;
    this.#isCut = false;
    this.#source.destroy();
    this.#target.destroy();
  }

  #take(chunk: Buffer | undefined): void {
    this.#pending.push({ at: performance.now() + this.#lagMs(), chunk });
    if (this.#timer === undefined) this.#deliver();
  }

  #deliver(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isCut) return;
    for (let next = this.#pending[0]; next !== undefined; next = this.#pending[0]) {
      const inMs = next.at - performance.now();
      if (inMs > 0) {
        this.#timer = setTimeout(() => this.#deliver(), Math.ceil(inMs));
        return;
      }
      this.#pending.shift();
      if (next.chunk === undefined) this.#target.destroySoon();
      else if (!this.#target.destroyed && !this.#target.write(next.chunk)) this.#source.pause();
    }
  }
}
