import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { RedisServer, socketPathFor } from './redis-server.ts';

/** The ports of a node of a local cluster. All nodes listen on 127.0.0.1. */
export interface NodePlace {
  /** The port for clients. With TLS it takes TLS only. */
  readonly port: number;
  /** The port for the other nodes of the cluster (the port of the cluster bus). */
  readonly busPort: number;
  /**
   * The ports that the node announces to clients and other nodes. Left out: its own ports. A proxy in front of the node listens on them.
   */
  readonly announced?: { readonly port: number; readonly busPort: number };
  /** Further arguments of redis-server for this node. */
  readonly settings?: readonly string[];
}

/** The settings that are the same for all nodes of a local cluster. */
export interface NodeSettings {
  /** The folder of the cluster. Each node has its data in a subfolder that is named after its port. */
  readonly folder: string;
  readonly appendfsync: 'always' | 'everysec';
  readonly password?: string | undefined;
  /** Paths of PEM files. If they are set, clients, replicas and the cluster bus speak TLS only. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string } | undefined;
  /** Further arguments of redis-server for all nodes. */
  readonly settings?: readonly string[];
  /** Called with the text that a node writes to stderr. A node's log is in its folder. */
  readonly complained?: (node: ClusterNode, text: string) => void;
  /** Called when a node ends although `stop` was not called. */
  readonly ended?: (node: ClusterNode, code: number | null, signal: NodeJS.Signals | null) => void;
}

/** One line of CLUSTER NODES: what a node reports about itself or about another node. */
export interface KnownNode {
  readonly id: string;
  /** The port that the node announces to clients. */
  readonly port: number;
  /** The flags of the node: `myself`, `master`, `slave`, `fail?`, `fail`, `handshake`, `noaddr` … */
  readonly flags: readonly string[];
  /** The id of the node's primary. Undefined: the node is a primary. */
  readonly primaryId: string | undefined;
  readonly configEpoch: number;
  readonly isConnected: boolean;
  /** The ranges of slots that the node serves, both ends included. */
  readonly slots: readonly (readonly [number, number])[];
}

/** A node of a cluster on this machine: a redis-server that listens on 127.0.0.1, and on a Unix socket in its folder. */
export class ClusterNode {
  readonly place: NodePlace;
  readonly folder: string;
  readonly #server: RedisServer;
  readonly #settings: NodeSettings;
  #connection: Redis | undefined;

  constructor(place: NodePlace, settings: NodeSettings) {
    this.place = place;
    this.#settings = settings;
    this.folder = join(settings.folder, String(place.port));
    this.#server = new RedisServer({
      folder: this.folder,
      socketPath: socketPathFor(this.folder),
      settings: argumentsOf(place, settings),
      password: settings.password,
      complained: (text) => settings.complained?.(this, text),
      adviceFor: () => `The Redis of port ${place.port} does not start. Its reason is in ${join(this.folder, LOG_FILE)}.`,
    });
  }

  get port(): number {
    return this.place.port;
  }

  get pid(): number | undefined {
    return this.#server.pid;
  }

  get isRunning(): boolean {
    return this.#server.isRunning;
  }

  /** The path of the node's Unix socket. A connection to it needs no TLS, and bypasses any proxy in front of the ports. */
  get socketPath(): string {
    return this.#server.socketPath;
  }

  /** Stops a Redis that an earlier run has left working on this folder. @returns whether there was one */
  stopOrphan(): Promise<boolean> {
    return this.#server.stopOrphan();
  }

  /** @throws SettingError if redis-server does not start */
  async start(): Promise<void> {
    await this.#server.start((code, signal) => this.#settings.ended?.(this, code, signal));
  }

  async stop(): Promise<void> {
    this.#connection?.disconnect();
    this.#connection = undefined;
    await this.#server.stop();
  }

  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    return this.#server.signal(name);
  }

  /** Sends a command over the Unix socket. @throws the Error with which Redis answered, or an Error because Redis did not answer */
  async call(command: string, ...words: (string | number)[]): Promise<unknown> {
    if (this.#connection === undefined || ['close', 'end'].includes(this.#connection.status)) {
      this.#connection = this.#server.connection();
      await this.#connection.connect();
    }
    return this.#connection.call(command, words);
  }

  /** The nodes that this node knows, including itself. */
  async known(): Promise<KnownNode[]> {
    return parseNodes(String(await this.call('CLUSTER', 'NODES')));
  }
}

const LOG_FILE = 'redis.log';

function argumentsOf({ port, busPort, announced, settings: own = [] }: NodePlace, settings: NodeSettings): string[] {
  const { tls, password, appendfsync } = settings;
  const pairs = [
    ['bind', '127.0.0.1'],
    ...(tls === undefined
      ? [['port', port]]
      : [
          ['port', 0],
          ['tls-port', port],
          ['tls-cluster', 'yes'],
          ['tls-replication', 'yes'],
          ['tls-auth-clients', 'no'],
          ['tls-cert-file', tls.cert],
          ['tls-key-file', tls.key],
          ['tls-ca-cert-file', tls.ca],
        ]),
    ...(password === undefined
      ? []
      : [
          ['requirepass', password],
          ['masterauth', password],
        ]),
    ['cluster-enabled', 'yes'],
    ['cluster-config-file', 'nodes.conf'],
    ['cluster-port', busPort],
    ['cluster-announce-ip', '127.0.0.1'],
    [tls === undefined ? 'cluster-announce-port' : 'cluster-announce-tls-port', announced?.port ?? port],
    ['cluster-announce-bus-port', announced?.busPort ?? busPort],
    // Milliseconds after which a replica considers its primary dead. Within another second or two it takes over.
    ['cluster-node-timeout', 2000],
    // While one primary is down, the other primaries go on serving their slots.
    ['cluster-require-full-coverage', 'no'],
    // Seconds that a primary waits for more replicas to come before it copies its data to a new replica. Redis's default is 5.
    ['repl-diskless-sync-delay', 0],
    ['appendonly', 'yes'],
    ['appendfsync', appendfsync],
    ['no-appendfsync-on-rewrite', 'no'],
    ['save', ''],
    ['maxmemory-policy', 'noeviction'],
    ['tracking-table-max-keys', 100_000],
    ['logfile', LOG_FILE],
  ] as const;
  return [...pairs.flatMap(([name, value]) => [`--${name}`, String(value)]), ...(settings.settings ?? []), ...own];
}

/** Parses the answer to CLUSTER NODES: https://redis.io/docs/latest/commands/cluster-nodes/ */
export function parseNodes(text: string): KnownNode[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [id = '', address = '', flags = '', primary = '-', _pingSent, _pongReceived, epoch = '0', link, ...slots] = line.split(' ');
      return {
        id,
        port: Number(/:(\d+)@/.exec(address)?.[1]),
        flags: flags.split(','),
        primaryId: primary === '-' ? undefined : primary,
        configEpoch: Number(epoch),
        isConnected: link === 'connected',
        // A word in square brackets names a slot that is moving.
        slots: slots
          .filter((slot) => !slot.startsWith('['))
          .map((slot) => {
            const [firstSlot = '', lastSlot = firstSlot] = slot.split('-');
            return [Number(firstSlot), Number(lastSlot)] as const;
          }),
      };
    });
}
