import { setTimeout as pause } from 'node:timers/promises';
import type { Reply } from '../redis/resp.ts';
import type { NodeAddress } from '../redis/shard.ts';
import { slotOf } from '../redis/slots.ts';
import { Unfinished, Unsettled, type Command } from './auditor.ts';
import type { ClusterNodes, NodeReader } from './cluster-nodes.ts';
import type { AuditReader } from './scan.ts';

/**
 * How long the audit waits for a slot that no node serves, in milliseconds. A failover takes seconds; a node that restarts loads its data.
 */
export const PATIENCE_MS = 30_000;

/** The first pause before a read that a node refused is sent again, in milliseconds. */
const FIRST_PAUSE_MS = 5;

/** The longest such pause, in milliseconds. */
const LONGEST_PAUSE_MS = 250;

/** The most redirections in a row that are followed without a pause. For a moment, each of two nodes may redirect to the other. */
const HOPS_AT_ONCE = 3;

/** The most rounds of reads of keys in several slots. The reads end once two rounds agree. */
const ROUNDS = 5;

/** The map of the Cluster's slots: the node that serves each slot, as far as is known. */
export interface SlotMap {
  shardOf(slot: number): { readonly address: NodeAddress } | undefined;
  /** To call when a node refused a read, because the assignment of slots may have changed. */
  refresh(): void;
}

/** Thrown when a node refuses to read several keys in one command or transaction, because their slot is moving. */
class KeysApart extends Error {}

/**
 * Reads a Redis Cluster: sends each command to the node that serves the slot of its key, follows MOVED and ASK, and waits for a failover. A
 * read changes nothing, so a read whose reply was lost is sent again.
 */
export class ClusterReader implements AuditReader {
  readonly #map: SlotMap;
  readonly #nodes: Pick<ClusterNodes, 'reader'>;
  readonly #patienceMs: number;
  /** The number of each connection. A cursor has the number of the connection that gave it. */
  readonly #numbers = new WeakMap<NodeReader, number>();
  #connections = 0;
  /** Called when a node's answer shows that a slot has moved or is moving. */
  onMoved: (slot: number) => void = () => {};

  constructor(map: SlotMap, nodes: Pick<ClusterNodes, 'reader'>, patienceMs = PATIENCE_MS) {
    this.#map = map;
    this.#nodes = nodes;
    this.#patienceMs = patienceMs;
  }

  async ask(command: Command): Promise<Reply> {
    const [name] = command;
    if (name.endsWith('SCAN')) return this.#scan(command);
    const [reply] = await this.#ofSlot([command]);
    return reply!;
  }

  async atomically(commands: readonly Command[]): Promise<Reply[]> {
    const slots = Map.groupBy(commands.keys(), (index) => slotOf(keyOf(commands[index]!)));
    if (slots.size <= 1) return this.#ofSlot(commands);
    return agreed(async () => {
      const replies: Reply[] = [];
      const read = async (indexes: readonly number[]): Promise<void> => {
        const ofSlot = await this.#ofSlot(indexes.map((index) => commands[index]!));
        for (const [place, index] of indexes.entries()) replies[index] = ofSlot[place]!;
      };
      await Promise.all([...slots.values()].map(read));
      return replies;
    });
  }

  /** Gives the replies to commands whose keys are in one slot. All replies are true at one moment. */
  async #ofSlot(commands: readonly Command[]): Promise<Reply[]> {
    if (commands.length === 0) return [];
    try {
      return (await this.#routed(commands)).replies;
    } catch (error) {
      if (!(error instanceof KeysApart)) throw error;
    }
    // While a slot moves, its nodes read only one key in a command.
    const single = commands.flatMap(singleKeyed);
    const read = async (command: Command): Promise<Reply> => (await this.#routed([command])).replies[0]!;
    const replies = await agreed(() => Promise.all(single.map(read)));
    return commands.map((command) => {
      const own = replies.splice(0, singleKeyed(command).length);
      return own.length === 1 ? own[0]! : (own as number[]).reduce((sum, number) => sum + number, 0);
    });
  }

  /**
   * Runs HSCAN, SSCAN or ZSCAN. A cursor is valid only on the node that gave it, so each returned cursor ends with an `@` and the number of
   * the connection.
   */
  async #scan([name, key = '', given = '0', ...words]: Command): Promise<Reply> {
    const [cursor = '0', connection] = String(given).split('@');
    const pinned = connection === undefined ? undefined : Number(connection);
    const { replies, number } = await this.#routed([[name, key, cursor, ...words]], pinned);
    const [next, items] = replies[0] as [string, Reply];
    return [next === '0' ? next : `${next}@${number}`, items];
  }

  /**
   * Sends commands to the node that serves their slot, until a node answers.
   * @param pinned the number of the only connection that may answer
   */
  async #routed(commands: readonly Command[], pinned?: number): Promise<{ replies: Reply[]; number: number }> {
    const [command] = commands as [Command];
    // TIME goes to the primary of the lowest slot, whose clock is the reference of the service too (`redis-clock.ts`).
    const slot = command[0] === 'TIME' ? 0 : slotOf(keyOf(command));
    const giveUpAt = performance.now() + this.#patienceMs;
    let redirection: Redirection | undefined;
    for (let refusals = 0; ; refusals++) {
      const address: NodeAddress | undefined = redirection?.address ?? this.#map.shardOf(slot)?.address;
      let refusal: Error;
      try {
        if (address === undefined) throw new Error('CLUSTERDOWN No primary serves the slot');
        const reader = await this.#nodes.reader(address);
        const number = this.#numberOf(reader);
        if (pinned !== undefined && number !== pinned) throw new Unsettled('The node of the cursor no longer serves its key');
        const prefix: Command[] = redirection?.isAsk === true ? [['ASKING']] : [];
        return { number, replies: commands.length === 1 ? [await reader.ask(command, prefix)] : await reader.atomically(commands, prefix) };
      } catch (error) {
        if (!isRefusal(error)) throw error;
        refusal = error;
      }
      this.#map.refresh();
      redirection = redirectionOf(refusal, address);
      if (redirection !== undefined) this.onMoved(slot);
      if (refusal.message.startsWith('TRYAGAIN')) throw new KeysApart();
      if (pinned !== undefined) throw new Unsettled('The node of the cursor no longer serves its key');
      if (performance.now() > giveUpAt) throw new Unfinished(unservedText(slot, refusal));
      if (redirection === undefined || refusals >= HOPS_AT_ONCE)
        await pause(Math.min(FIRST_PAUSE_MS * 2 ** Math.min(refusals, 10), LONGEST_PAUSE_MS));
    }
  }

  #numberOf(reader: NodeReader): number {
    let number = this.#numbers.get(reader);
    if (number === undefined) this.#numbers.set(reader, (number = ++this.#connections));
    return number;
  }
}

interface Redirection {
  readonly address: NodeAddress;
  readonly isAsk: boolean;
}

/**
 * @param asked the node that answered. A node that does not know its own host leaves the host out of a redirection, which then leads to the
 * node itself
 */
function redirectionOf({ message }: Error, asked: NodeAddress | undefined): Redirection | undefined {
  const [, word, host, port] = /^(MOVED|ASK) \d+ (.*):(\d+)$/.exec(message) ?? [];
  if (word === undefined) return undefined;
  return { address: { host: host === '' ? asked!.host : host!, port: Number(port) }, isAsk: word === 'ASK' };
}

/** Whether a read may be sent again: the node refused it, or the connection was lost. */
export function isRefusal(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN) |^Connection is closed|^Stream isn't writeable/.test(error.message)
  );
}

export function unservedText(slot: number, { message }: Error): string {
  return `No node of the cluster has served slot ${slot} for ${PATIENCE_MS / 1000} s (${message.replace(/\.$/, '')}): nothing is proven. Run the audit again.`;
}

/** Reads until two rounds in a row give the same replies. All these replies were true at one moment between these two rounds. */
async function agreed(round: () => Promise<Reply[]>): Promise<Reply[]> {
  let before: string | undefined;
  for (let count = 0; count < ROUNDS; count++) {
    const replies = await round();
    const now = JSON.stringify(replies);
    if (now === before) return replies;
    before = now;
  }
  throw new Unsettled('The data changes with each read');
}

function keyOf([, key]: Command): string {
  return String(key);
}

/**
 * Splits a command with several keys into commands with one key each. In an audit only EXISTS has several keys: it counts the keys that
 * exist.
 */
function singleKeyed(command: Command): Command[] {
  const [name, ...keys] = command;
  return name === 'EXISTS' ? keys.map((key): Command => [name, key]) : [command];
}
