import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestNode } from '../cluster-nodes.ts';
import { sum } from './client.ts';
import { copyService, type Change } from './copies.ts';
import { now } from './history.ts';
import { Place, type PlaceOptions } from './place.ts';
import { reportAudit, type Part, type Stand } from './proof.ts';

/** Work for a service, with the books that say what its data must be afterwards. */
export interface Load {
  /** Units of work that are done. */
  readonly done: number;
  /** Keys of the work. A fault hits the primary of most of them, or those that it moves. */
  readonly keys?: readonly string[];
  /** The times at which faults begin and end, if the load determines them. */
  readonly window?: readonly [from: number, until: number];
  /** Sends until its work is done or `isOver` is true. Resolves when each request has its answer, or was given up. */
  run(isOver: () => boolean): Promise<void>;
  /** Reports the sent requests, and compares their answers with the data. @returns the number of differences of each kind */
  compare(stage: Stage): Promise<Record<string, number>>;
  /** Further checks on a service without faults. */
  after?(stage: Stage): Promise<void>;
}

/** Base class of loads: the stand takes their reports, and the place has the service that they load. */
export class AtPlace {
  readonly stand: Stand;
  readonly place: Place;

  constructor(stand: Stand, place: Place) {
    [this.stand, this.place] = [stand, place];
  }
}

/** Several loads at once. A fault hits the keys of the first. */
export class Together implements Load {
  readonly #loads: readonly Load[];

  constructor(...loads: readonly Load[]) {
    this.#loads = loads;
  }

  get keys(): readonly string[] {
    return this.#loads[0]?.keys ?? [];
  }

  get done(): number {
    return sum(this.#loads.map(({ done }) => done));
  }

  async run(isOver: () => boolean): Promise<void> {
    await Promise.all(this.#loads.map((load) => load.run(isOver)));
  }

  async compare(stage: Stage): Promise<Record<string, number>> {
    const found: Record<string, number> = {};
    for (const load of this.#loads) Object.assign(found, await load.compare(stage));
    return found;
  }
}

/** Disturbs a service during a load. @returns how often it did what: each of it has to happen */
export type Fault = (stage: Stage) => Promise<Record<string, number>>;

/** One row of a proof: the load, the fault, and the place where both meet. */
export interface Scenario extends Pick<Part, 'proof' | 'name' | 'about' | 'least'> {
  /** Seconds of the whole part, and of the load in it. Without the latter the load ends by itself. */
  readonly takes: number;
  readonly seconds?: number;
  readonly place: PlaceOptions;
  readonly catalogue?: object;
  /** Changes that make a copy of the service fit for the proof. */
  readonly copy?: readonly Change[];
  /** A mistake in a copy of the service, which the checks have to find. */
  readonly mutant?: readonly Change[];
  readonly load: (stand: Stand, place: Place) => Load | Promise<Load>;
  /** It begins after a quarter of the load's seconds. */
  readonly fault?: Fault;
  /** Differences that the load may find (`any`), or has to find (`some`): asynchronous replication loses what it has not sent. */
  readonly allows?: Readonly<Record<string, 'any' | 'some'>>;
}

const LEAST_MS = 20_000;

/** A load under way. */
export class Stage extends AtPlace {
  readonly load: Load;
  /** The primary that a fault hits, and its slots before that. Undefined on one Redis. */
  readonly target: TestNode | undefined;
  /** Whether the load has ended. */
  hasEnded = false;
  faultAt = Infinity;
  readonly #slots: TestNode['slots'];
  readonly #endsAt: number;
  readonly #endsBy: number;

  constructor(stand: Stand, place: Place, load: Load, seconds: number | undefined) {
    super(stand, place);
    this.load = load;
    this.#endsAt = now() + 1000 * (seconds ?? Infinity);
    // However long the start took, faults need some time.
    this.#endsBy = Math.max(stand.endsBy, now() + LEAST_MS, load.window?.[1] ?? 0);
    const primaries = place.cluster?.nodes.filter(({ role }) => role === 'primary') ?? [];
    const count = ({ slots }: TestNode): number => (load.keys ?? []).filter((key) => isAmong(place.cluster!.slotOf(key), slots)).length;
    this.target = primaries.toSorted((one, other) => count(other) - count(one))[stand.run % Math.max(1, primaries.length)];
    this.#slots = this.target?.slots ?? [];
  }

  /** Whether a fault hits the key. */
  isHit(key: string): boolean {
    return this.target === undefined || isAmong(this.place.cluster!.slotOf(key), this.#slots);
  }

  /** Whether the load and a fault that repeats itself go on. @param isEnough the fault has happened as often as it has to */
  goesOn(isEnough = true): boolean {
    return !this.hasEnded && now() < this.#endsBy && (now() < this.#endsAt || !isEnough);
  }

  /** Waits for so long, or until the load has ended. */
  async pause(milliseconds: number): Promise<void> {
    for (const until = now() + milliseconds; now() < until && !this.hasEnded;) await pause(Math.min(50, until - now()));
  }
}

const isAmong = (slot: number, ranges: TestNode['slots']): boolean => ranges.some(([first, last]) => first <= slot && slot <= last);

export const partOf = (row: Scenario): Part => ({ ...row, seconds: row.takes, prove: (stand) => proveScenario(row, stand) });

async function proveScenario(row: Scenario, stand: Stand): Promise<void> {
  const { figures, history } = stand;
  const { mutant, allows = {} } = row;
  const place = await Place.open(placeOf(row, stand), stand);
  const load = await row.load(stand, place);
  const stage = new Stage(stand, place, load, row.seconds);
  let isFaultOver = row.fault === undefined;
  const sending = load.run(() => isFaultOver && !stage.goesOn()).finally(() => (stage.hasEnded = true));
  // Awaited below. Until then an error must not end this process, before the place is closed.
  sending.catch(() => {});
  stand.closing.push(() => (stage.hasEnded = true));
  if (row.fault !== undefined) {
    await stage.pause(load.window === undefined ? (row.seconds ?? 0) * 250 : load.window[0] - now());
    stage.faultAt = now();
    const counts = await row.fault(stage).finally(() => (isFaultOver = true));
    history.note({ counts });
    for (const [what, count] of Object.entries(counts)) figures.needs(what, count);
    if (place.lostBytes !== undefined) figures.report('bytes that another replica had and the new primary lacked', place.lostBytes);
  }
  await sending;
  history.event('the load has ended');
  figures.atLeast('units of work that are done', load.done, 1);
  const found = await load.compare(stage);
  history.note({ found });
  for (const [what, count] of Object.entries(found)) {
    if (mutant !== undefined || allows[what] === 'any') figures.report(what, count);
    else if (allows[what] === 'some') figures.needs(`${what}, because the fault is one that loses`, count);
    else figures.exactly(what, count, 0);
  }
  if (mutant !== undefined) return figures.needs('faults that the checks find in the mutant', sum(Object.values(found)));
  await load.after?.(stage);
  await reportAudit(figures, place);
}

function placeOf({ place, catalogue, copy = [], mutant = [] }: Scenario, { folder, size }: Stand): PlaceOptions {
  const changes = [...copy, ...mutant];
  const file = join(folder, 'catalogue.json');
  if (catalogue !== undefined) writeFileSync(file, JSON.stringify(catalogue));
  return {
    ...place,
    // A smaller load has as much under way when a primary dies, if replication takes longer.
    lagMs: place.lagMs === undefined ? undefined : place.lagMs * Math.max(1, 1 / size),
    settings: { ...place.settings, ...(catalogue === undefined ? {} : { CATALOGUE_FILE: file }) },
    program: changes.length === 0 ? undefined : copyService(join(folder, 'copy'), changes),
  };
}
