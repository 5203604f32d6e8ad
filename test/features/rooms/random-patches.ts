import { patchOps } from '../../../src/features/rooms/patch.ts';
import { newPlayer, roomJson, type RoomFields } from '../../../src/features/rooms/record.ts';
import { seeded } from '../../seeded.ts';
import type { Operation } from './apply-patch.ts';

const CHANGES = Number(process.env['PATCH_CHANGES'] ?? 4000);

/** A room with random changes. */
export class AnyRoom {
  readonly fields: RoomFields = new Map(
    Object.entries({
      ...{ code: 'BCDFG', phase: 'lobby', seq: '1', hostId: 'p1', players: 'p1', minPlayers: '1', maxPlayers: '8', locked: 'false' },
      ...{ writers: 'host', public: 'false', tags: '{}', state: '{}', stateSeq: '1', p1: newPlayer('Ada', '2026-11-23T00:00:00.000Z') },
      ...{ createdAt: '1700000000000', updatedAt: '1700000000000', expiresAt: '1700007200000' },
    }),
  );
  #given = 1;
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #value(depth = 0): unknown {
    const kinds = [1, 'é"\\\u2028', true, null, -0.5, [], {}] as const;
    if (depth > 3 || this.#random() < 0.5) return kinds[this.#below(kinds.length)];
    if (this.#random() < 0.5) return Array.from({ length: this.#below(5) }, () => this.#value(depth + 1));
    const names = ['a', 'b/c', 'd~e', '', '__proto__', 'constructor', '0'];
    return Object.fromEntries(Array.from({ length: this.#below(5) }, () => [names[this.#below(names.length)], this.#value(depth + 1)]));
  }

  get #ids(): string[] {
    return this.fields.get('players')!.split(' ').filter(Boolean);
  }

  change(): void {
    const { fields } = this;
    const id = this.#ids[this.#below(this.#ids.length)];
    const kinds = [
      () => fields.set('state', JSON.stringify(this.#value())),
      () => id && fields.set(`${id}.data`, JSON.stringify(this.#value())),
      () =>
        id &&
        fields.set(id, newPlayer(`Player ${this.#below(3)}`, '2026-11-23T00:00:00.000Z').replace('false', String(this.#random() < 0.5))),
      () => id && fields.set('hostId', id),
      () => fields.set('tags', JSON.stringify({ mode: this.#below(3) })),
      () => fields.set('startedAt', String(1_700_000_000_000 + this.#below(9))),
      () => {
        if (this.#ids.length === 8) return;
        const joined = `p${++this.#given}`;
        fields.set('players', [...this.#ids, joined].join(' ')).set(joined, newPlayer('New', '2026-11-23T00:00:00.000Z'));
      },
      () => {
        if (id === undefined) return;
        fields.set('players', this.#ids.filter((each) => each !== id).join(' '));
        for (const name of [id, `${id}.data`]) fields.delete(name);
      },
    ];
    kinds[this.#below(kinds.length)]!();
    fields.set('seq', String(Number(fields.get('seq')) + 1));
  }
}

interface Step {
  /** Undefined for the room before the first change. */
  readonly ops: Operation[] | undefined;
  /** The whole room after the changes, as object, as JSON and as fields. */
  readonly room: { readonly seq: number };
  readonly text: string;
  readonly fields: RoomFields;
}

/** Patches of one room, each with one to three random changes. */
export function* randomPatches(seed: number): Generator<Step> {
  const random = seeded(seed);
  const any = new AnyRoom(random);
  const step = (ops?: Operation[]): Step => {
    const text = roomJson(any.fields);
    return { ops, room: JSON.parse(text) as Step['room'], text, fields: any.fields };
  };
  yield step();
  for (let changes = 0; changes < CHANGES;) {
    const before = new Map(any.fields);
    const count = 1 + Math.floor(random() * 3);
    for (let index = 0; index < count; index++) any.change();
    changes += count;
    const changed = [...new Set([...before.keys(), ...any.fields.keys()])].filter((name) => before.get(name) !== any.fields.get(name));
    const ops = patchOps(new Map(changed.map((name) => [name, before.get(name)])), any.fields);
    yield step(JSON.parse(ops) as Operation[]);
  }
}
