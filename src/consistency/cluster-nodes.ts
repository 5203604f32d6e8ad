import { Redis } from 'ioredis';
import { OPTIONS } from '../redis/connect.ts';
import { nameOf, type NodeAddress, type NodeOptions } from '../redis/shard.ts';
import { Reader } from './reader.ts';

/** The methods of `Reader` that the audit uses for one node. */
export type NodeReader = Pick<Reader, 'ask' | 'atomically' | 'isLost' | 'opened' | 'isReady' | 'disconnect'>;

/** The connections of an audit to the nodes of a Cluster. Each connection has its own bursts and pauses. */
export class ClusterNodes {
  readonly #open: (address: NodeAddress) => NodeReader;
  readonly #readers = new Map<string, NodeReader>();
  #isClosed = false;

  /** @param open makes the connection to a node */
  constructor(open: (address: NodeAddress) => NodeReader) {
    this.#open = open;
  }

  /** The connection to a node. A connection that was lost is replaced. @throws Error if the node does not answer in time */
  async reader(address: NodeAddress): Promise<NodeReader> {
    if (this.#isClosed) throw new Error('The audit has ended.');
    const name = nameOf(address);
    let reader = this.#readers.get(name);
    if (reader === undefined || reader.isLost) {
      reader?.disconnect();
      this.#readers.set(name, (reader = this.#open(address)));
    }
    if (!reader.isReady) await reader.opened();
    if (reader.isReady) return reader;
    if (this.#readers.get(name) === reader) this.#readers.delete(name);
    reader.disconnect();
    throw new Error('Connection is closed.');
  }

  disconnect(): void {
    this.#isClosed = true;
    for (const reader of this.#readers.values()) reader.disconnect();
  }
}

/** Makes the connection of an audit to a node. @param share the part of the time in which Redis may work for the audit */
export function openNode(address: NodeAddress, options: NodeOptions, share: number): Reader {
  return new Reader(new Redis({ ...OPTIONS, ...options, ...address, lazyConnect: true }), share);
}

/** The answer of a node to CLUSTER NODES: about itself and the other nodes. */
export interface NodeState {
  readonly id: string;
  readonly isPrimary: boolean;
  serves(slot: number): boolean;
  /**
   * The slots that are moving: by slot, the id of the node to which the slot moves from this node, or undefined if the slot moves to this
   * node. Slots at rest are left out.
   */
  readonly moving: ReadonlyMap<number, string | undefined>;
  addressOf(id: string): NodeAddress | undefined;
  /** Addresses of primaries that serve no slot. They may have keys all the same. */
  readonly idle: readonly NodeAddress[];
}

/**
 * Parses the reply to CLUSTER NODES: https://redis.io/docs/latest/commands/cluster-nodes/
 * @param asked the address of the node that replied, which may not know its own address
 */
export function nodeStateOf(reply: string, asked: NodeAddress): NodeState {
  const nodes = reply
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', place = '', flags = '', _primary, _pingSent, _pongReceived, _epoch, _link, ...slots] = line.split(' ');
      const [, host = '', port = ''] = /^(.*):(\d+)@/.exec(place) ?? [];
      const address = host === '' ? asked : { host, port: Number(port) };
      return { id, address, flags: flags.split(','), slots };
    });
  const own = nodes.find(({ flags }) => flags.includes('myself'))!;
  const ranges = own.slots
    .filter((slot) => !slot.startsWith('['))
    .map((range) => {
      const [from = '', to = from] = range.split('-');
      return [Number(from), Number(to)] as const;
    });
  const moving = new Map<number, string | undefined>();
  for (const text of own.slots) {
    const [, slot, way, id] = /^\[(\d+)-([<>])-(\w+)\]$/.exec(text) ?? [];
    if (slot !== undefined) moving.set(Number(slot), way === '>' ? id : undefined);
  }
  const isIdle = ({ flags, slots }: (typeof nodes)[number]): boolean =>
    flags.includes('master') && !/fail|handshake|noaddr/.test(flags.join(',')) && slots.every((slot) => slot.startsWith('['));
  return {
    id: own.id,
    isPrimary: own.flags.includes('master'),
    serves: (slot) => ranges.some(([from, to]) => from <= slot && slot <= to),
    moving,
    addressOf: (id) => nodes.find((node) => node.id === id)?.address,
    idle: nodes.filter(isIdle).map(({ address }) => address),
  };
}
