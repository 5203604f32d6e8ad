import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * The proxies of `cluster-proxy.ts`, in a separate thread: a busy test must not delay the messages between nodes. Each message of the
 * test is answered once it is carried out.
 */

export interface ProxyPort {
  readonly port: number;
  readonly target: number;
  /** The index of the node behind the proxy. */
  readonly to: number;
  readonly kind: 'client' | 'bus';
}

/** The faults that the proxies simulate, by the index of a node. */
export interface Rules {
  /** Nodes of different groups do not reach each other. */
  readonly groupOf: readonly number[];
  /** The delay of data from this node to its replicas. */
  readonly lagMs: readonly number[];
  /** The node's machine has failed: data that no other node has received yet is destroyed. */
  readonly isDead: readonly boolean[];
}

/** The addresses of the nodes, from `cluster-proxy.ts`. */
const SOURCE = /^(?:::ffff:)?127\.0\.1\.(\d+)$/;

let rules: Rules = { groupOf: [], lagMs: [], isDead: [] };
const wires = new Set<Wire>();

/** One connection through a proxy. */
class Wire {
  /** The index of the node that connected; undefined: a client. */
  readonly from: number | undefined;
  readonly to: number;
  readonly #there: Direction;
  readonly #back: Direction;
  #isCut: boolean;

  constructor(incoming: Socket, from: number | undefined, { target, to, kind }: ProxyPort) {
    [this.from, this.to] = [from, to];
    wires.add(this);
    this.#isCut = this.#shouldBeCut();
    const outgoing = connect({ port: target, host: '127.0.0.1', noDelay: true });
    incoming.setNoDelay(true);
    this.#there = new Direction(incoming, outgoing, () => 0);
    // Replicas fetch from the port for clients, so data from this port to another node is replication.
    const isReplication = kind === 'client' && from !== undefined;
    this.#back = new Direction(outgoing, incoming, () => (isReplication ? (rules.lagMs[to] ?? 0) : 0));
    for (const socket of [incoming, outgoing]) {
      // The 'close' event follows, and ends the other side.
      socket.on('error', () => {});
      socket.on('close', () => {
        if (incoming.destroyed && outgoing.destroyed) wires.delete(this);
      });
    }
    if (this.#isCut) this.#setCut(true);
    this.apply();
  }

  apply(): void {
    // Clients of a failed machine get no notice.
    const isDead = this.from !== undefined && [this.from, this.to].some((index) => rules.isDead[index] === true);
    if (isDead) return this.#destroy();
    if (this.#isCut !== this.#shouldBeCut()) this.#setCut(!this.#isCut);
  }

  #destroy(): void {
    this.#there.destroy();
    this.#back.destroy();
  }

  #shouldBeCut(): boolean {
    // Clients reach all nodes.
    return this.from !== undefined && (rules.groupOf[this.from] ?? 0) !== (rules.groupOf[this.to] ?? 0);
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

/** One direction of a connection. It keeps the order, and delivers pending data once it is no longer cut. */
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

  /** Ends the connection at once. Pending data never arrives. */
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

for (const port of workerData as ProxyPort[]) {
  const server = createServer((socket) => {
    const source = SOURCE.exec(socket.remoteAddress ?? '')?.[1];
    void new Wire(socket, source === undefined ? undefined : Number(source) - 1, port);
  });
  await once(server.listen(port.port, '127.0.0.1'), 'listening');
}
parentPort!.on('message', (order: Rules) => {
  rules = order;
  for (const wire of wires) wire.apply();
  parentPort!.postMessage('applied');
});
parentPort!.postMessage('open');
