import { plainOffsets, seqIn, stampIn } from './room-message.ts';
import type { Packing } from './room-protocols.ts';

interface Patch {
  readonly seq: number;
  readonly from: number;
  readonly ops: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[];
}

/**
 * A client's copy of a room whose channel sends patches. Parsing each message would cost more CPU than the service uses, so messages are
 * kept, and applied only when the copy is asked for.
 */
export class RoomCopy<Room extends { readonly seq: number }> {
  /** Patches that start from another state than the copy had. */
  faults = 0;
  #state = Buffer.alloc(0);
  #length = 0;
  #patches: string[] = [];
  #room: Room | undefined;

  keep(bytes: Buffer, start: number, end: number): void {
    if (end - start > this.#state.length) this.#state = Buffer.alloc(2 * (end - start));
    this.#length = bytes.copy(this.#state, 0, start, end);
    this.#patches.length = 0;
    this.#room = undefined;
  }

  patch(text: string): void {
    this.#patches.push(text);
  }

  get room(): Room {
    this.#room ??= (JSON.parse(this.#state.toString('utf8', 0, this.#length)) as { room: Room }).room;
    for (const text of this.#patches.splice(0)) this.#apply(JSON.parse(text) as Patch, this.#room);
    return this.#room;
  }

  #apply({ seq, from, ops }: Patch, room: Room): void {
    if (from !== room.seq) this.faults++;
    for (const { op, path, value } of ops) {
      const parts = path.slice(1).split('/');
      const last = parts.pop()!;
      const target = parts.reduce<Record<string, unknown>>((part, name) => part[name] as Record<string, unknown>, room as never);
      // Nobody leaves these rooms, so patches neither remove elements of lists nor insert any.
      if (op === 'remove') delete target[last];
      else target[last] = value;
    }
    if (room.seq !== seq) this.faults++;
  }
}

/** The room as JSON, its members in one order: patches add members at the end. */
export function sortedJson(room: unknown): string {
  return JSON.stringify(room, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
}

/** How a watcher reads a channel with `?patch=1`. @param copy where the watcher keeps a copy of the room */
export function patchedPacking(copy: RoomCopy<{ readonly seq: number }> | undefined): Packing {
  return {
    offsets: plainOffsets,
    isState: () => true,
    answer: () => undefined,
    isPatch: (bytes, start) => bytes[start + TYPE_AT] === PATCH,
    keep(bytes, start, end) {
      if (bytes[start + TYPE_AT] === PATCH) copy?.patch(bytes.toString('utf8', start, end));
      else copy?.keep(bytes, start, end);
    },
  };
}

/** `seq` and `from` of a patch, and the stamp that it sets. */
export function patchIn(bytes: Buffer, start: number, end: number): { seq: number; from: number; stampMs: number } {
  const seq = seqIn(bytes, start, { seqAt: SEQ_AT });
  const from = seqIn(bytes, start, { seqAt: SEQ_AT + String(seq).length + FROM.length });
  const stampAt = bytes.indexOf(STAMP, start);
  const valueAt = stampAt + STAMP.length;
  return { seq, from, stampMs: stampAt < 0 || stampAt > end ? Number.NaN : stampIn(bytes, valueAt, { stampFromEnd: 0 }) };
}

const TYPE_AT = '{"type":"'.length;
const PATCH = 'p'.charCodeAt(0);
const SEQ_AT = '{"type":"patch","seq":'.length;
const FROM = ',"from":';
const STAMP = '"path":"/state/at","value":"';
