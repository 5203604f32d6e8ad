import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { RedisServer, socketPathFor } from './redis-server.ts';

/** Where a node of a local cluster listens. All addresses are on 127.0.0.1. */
export interface NodePlace {
  /** Port for clients; with TLS the one port is for TLS. */
  readonly port: number;
  /** Port for the other nodes. */
  readonly busPort: number;
  /** Ports that the node announces instead, because a proxy in front of it listens there. */
  readonly announced?: { readonly port: number; readonly busPort: number };
  /** Further arguments of this node's redis-server. */
  readonly settings?: readonly string[];
}

/** The settings that all nodes of a local cluster share. */
export interface NodeSettings {
  /** Folder of the cluster. Each node has its data in a folder of its own there, named after its port. */
  readonly folder: string;
  readonly appendfsync: 'always' | 'everysec';
  readonly password?: string | undefined;
  /** Paths of PEM files. With them, clients, replicas and the bus speak TLS only. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string } | undefined;
  /** Further arguments of redis-server. */
  readonly settings?: readonly string[];
  /** Gets the text that a node writes to stderr. A node's log is in its folder. */
  readonly complained?: (node: ClusterNode, text: string) => void;
  /** Called when a node ends without `stop`. */
  readonly ended?: (node: ClusterNode, code: number | null, signal: NodeJS.Signals | null) => void;
}

/** One line of CLUSTER NODES: the knowledge of a node about itself or about another node. */
export interface KnownNode {
  readonly id: string;
  /** The announced port. */
  readonly port: number;
  /** `myself`, `master`, `slave`, `fail?`, `fail`, `handshake`, `noaddr` … */
  readonly flags: readonly string[];
  /** Id of the primary of a replica. */
  readonly primaryId: string | undefined;
  readonly configEpoch: number;
  readonly isConnected: boolean;
  /** Ranges of slots, both ends included. */
  readonly slots: readonly (readonly [number, number])[];
}

/** One redis-server of a cluster on this machine. It listens on 127.0.0.1 only, and on a Unix socket in its folder. */
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

  /** Unix socket of the node, which needs no TLS and bypasses any proxy in front of the ports. */
  get socketPath(): string {
    return this.#server.socketPath;
  }

  /** Stops a Redis that an earlier run left on this folder. */
  stopOrphan(): Promise<boolean> {
    return this.#server.stopOrphan();
  }

  /** @throws SettingError when redis-server does not start */
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

  /** Sends a command over the Unix socket. @throws Error that Redis answered, or that it did not answer */
  async call(command: string, ...words: (string | number)[]): Promise<unknown> {
    if (this.#connection === undefined || ['close', 'end'].includes(this.#connection.status)) {
      this.#connection = this.#server.connection();
      await this.#connection.connect();
    }
    return this.#connection.call(command, words);
  }

  /** The cluster as this node knows it, itself included. */
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
    // After this time without its primary, a replica takes over within a second or two.
    ['cluster-node-timeout', 2000],
    // While one primary is away, the others go on.
    ['cluster-require-full-coverage', 'no'],
    // A replica would wait 5 s for others that want the same copy.
    ['repl-diskless-sync-delay', 0],
    ['appendonly', 'yes'],
    ['appendfsync', appendfsync],
    ['no-appendfsync-on-rewrite', 'no'],
    ['save', ''],
    ['maxmemory-policy', 'noeviction'],
    ['logfile', LOG_FILE],
  ] as const;
  return [...pairs.flatMap(([name, value]) => [`--${name}`, String(value)]), ...(settings.settings ?? []), ...own];
}

/** Reads the answer to CLUSTER NODES: https://redis.io/docs/latest/commands/cluster-nodes/ */
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
        // A word in brackets is a slot that is being moved.
        slots: slots
          .filter((slot) => !slot.startsWith('['))
          .map((slot) => {
            const [firstSlot = '', lastSlot = firstSlot] = slot.split('-');
            return [Number(firstSlot), Number(lastSlot)] as const;
          }),
      };
    });
}
