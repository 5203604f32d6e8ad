import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { coinop, type Client } from '../../src/clients/javascript/client.ts';
import type { Fetch } from '../../src/clients/javascript/request.ts';
import { savesOf, type Saves } from '../../src/clients/javascript/saves.ts';
import { TestStore } from '../clients/javascript/player.ts';
import { times } from './client.ts';
import { now, within } from './history.ts';
import { AtPlace, type Load } from './scenario.ts';

const PLAYERS = 200;
const SLOT = { game: 'prove', name: 'slot' } as const;

/** Every play of a game adds one mark to its save. */
type Marks = readonly string[];

const union = (...all: readonly (Marks | undefined)[]): Marks => [...new Set(all.flatMap((marks) => marks ?? []))].sort();

/** How long devices may take to send what they have, once no fault disturbs them: on a busy machine some minutes. */
const SETTLED_MS = 300_000;

/** An answer of the service that shows a version: to a save (`ifVersion`) or to a load. */
interface Shown {
  readonly at: number;
  readonly device: number;
  readonly ifVersion?: number;
  readonly version: number;
  readonly marks: Marks;
}

/**
 * Players on two devices, which go offline in turns and crash. Each play reads what the device has, adds a mark and saves. A conflict merges
 * the marks of both sides, so no mark may be missing at the end.
 */
export class PlayedSaves extends AtPlace implements Load {
  readonly #players = times(Math.ceil(PLAYERS * this.stand.size), () => {
    const installId = `prove-${randomBytes(8).toString('hex')}`;
    return [new Device(installId, this, 0), new Device(installId, this, 1)] as const;
  });

  get done(): number {
    return this.#devices.reduce((sum, { saved }) => sum + saved, 0);
  }

  get #devices(): readonly Device[] {
    return this.#players.flat();
  }

  async run(isOver: () => boolean): Promise<void> {
    await Promise.all(
      this.#players.map(async (devices) => {
        for (let turn = 0; !isOver(); turn++) {
          const [away, other] = turn % 2 === 0 ? devices : [devices[1], devices[0]];
          away.isOffline = true;
          for (const device of [away, other, away]) await device.play();
          if (Math.random() < 0.3) await away.crash();
          await pause(400 * Math.random());
          away.isOffline = false;
          await other.play();
          if (Math.random() < 0.1) await other.crash();
          away.wake();
          await pause(400 * Math.random());
        }
      }),
    );
  }

  async compare(): Promise<Record<string, number>> {
    const { figures, history } = this.stand;
    const missing: Missing[] = [];
    let apart = 0;
    await Promise.all(
      this.#players.map(async (devices) => {
        const isOne = async (): Promise<boolean> => {
          const [one, other] = await Promise.all(devices.map((device) => device.settled()));
          return one !== undefined && String(one) === String(other);
        };
        if (!(await within(SETTLED_MS, isOne, 200))) apart++;
        const shown = devices.flatMap((device) => device.shown).toSorted((one, other) => one.at - other.at);
        const own = missingOf(devices, shown);
        missing.push(own);
        if (Object.values(own).some(({ length }) => length > 0)) history.note({ missing: own, shown });
      }),
    );
    const sum = (of: (device: Device) => number): number => this.#devices.reduce((all, device) => all + of(device), 0);
    figures.atLeast('saves that were acknowledged', this.done, this.#players.length);
    figures.report(
      'conflicts that games merged',
      sum(({ conflicts }) => conflicts.length),
    );
    figures.atLeast(
      'crashes of devices',
      sum(({ crashes }) => crashes),
      1,
    );
    const twice = sum(({ conflicts }) => conflicts.length - new Set(conflicts).size);
    for (const device of this.#devices) device.close();
    const count = (of: keyof Missing): number => missing.reduce((all, { [of]: some }) => all + some.length, 0);
    return {
      'acknowledged versions that are lost': count('versions'),
      'acknowledged marks that a later version lacks': count('overwritten'),
      'marks that a device lost before the service had them': count('forgotten'),
      'marks that devices could not send': count('kept'),
      'players whose devices differ': apart,
      'conflicts that a game saw twice': twice,
    };
  }
}

/** Fields of a request and of an answer. */
interface Sent {
  readonly ifVersion: number;
  readonly version: number;
  readonly data: Marks;
}

/** What is missing at the end, by where it was lost. */
interface Missing {
  /** Acknowledged versions above the last one, or whose number came again with other marks: the service lost them. */
  readonly versions: readonly number[];
  /** Marks of another acknowledged version: a device or the service did not compare what stood. */
  readonly overwritten: Marks;
  /** Marks that were never acknowledged, and that no device has in its store. */
  readonly forgotten: Marks;
  /** Marks that were never acknowledged, and that a device has in its store. */
  readonly kept: Marks;
}

/** @param shown all answers that the player's devices got, in the order of their times */
function missingOf(devices: readonly Device[], shown: readonly Shown[]): Missing {
  const last = shown.at(-1);
  const isLost = ({ version, marks }: Shown): boolean =>
    version > last!.version || shown.findLast((other) => other.version === version)!.marks.join() !== marks.join();
  const lost = shown.filter(isLost);
  const gone = union(...devices.map(({ played }) => played)).filter((mark) => !last?.marks.includes(mark));
  const isIn = (some: readonly Shown[]) => (mark: string) => some.some(({ marks }) => marks.includes(mark));
  const [wasShown, wasLost] = [isIn(shown.filter((each) => !lost.includes(each))), isIn(lost)];
  const unknown = gone.filter((mark) => !wasShown(mark) && !wasLost(mark));
  const isKept = (mark: string): boolean => devices.some((device) => device.keeps(mark));
  return {
    versions: [...new Set(lost.map(({ version }) => version))],
    overwritten: gone.filter(wasShown),
    forgotten: unknown.filter((mark) => !isKept(mark)),
    kept: unknown.filter(isKept),
  };
}

/** A device of a player. Its store outlives its crashes. */
class Device {
  isOffline = false;
  saved = 0;
  crashes = 0;
  played: Marks = [];
  /** The versions with which its saves were in conflict. */
  readonly conflicts: string[] = [];
  readonly shown: Shown[] = [];
  readonly #store = new TestStore();
  readonly #installId: string;
  readonly #load: PlayedSaves;
  readonly #index: number;
  #client!: Client;
  #saves!: Saves<Marks>;
  #marks: Marks = [];

  constructor(installId: string, load: PlayedSaves, index: number) {
    [this.#installId, this.#load, this.#index] = [installId, load, index];
    this.#start();
  }

  #start(): void {
    const send: Fetch = async (url, init) => {
      if (this.isOffline) throw new TypeError('offline');
      const answer = await fetch(url.replace('http://service', this.#load.place.url()), init);
      const text = await answer.text();
      if (answer.status === 200) this.#note(JSON.parse(init.body ?? '{}') as Partial<Sent>, JSON.parse(text) as Sent);
      return { status: answer.status, headers: answer.headers, text: async () => text };
    };
    const options = { url: 'http://service', fetch: send, WebSocket: null, installId: this.#installId, store: this.#store };
    this.#client = coinop({ ...options, onWarning() {} });
    this.#saves = savesOf<Marks>(this.#client, {
      onConflict: (mine, theirs) => {
        this.conflicts.push(JSON.stringify([mine.data, theirs]));
        return union(mine.data, theirs.data);
      },
    });
  }

  #note({ ifVersion, data: sent }: Partial<Sent>, { version, data = sent! }: Sent): void {
    this.shown.push({ at: now(), device: this.#index, ...(ifVersion === undefined ? {} : { ifVersion }), version, marks: data });
  }

  /** Adds a mark to what the device has, and saves. */
  async play(): Promise<void> {
    const mark = randomBytes(4).toString('hex');
    this.played = [...this.played, mark];
    this.#marks = union(this.#marks, [mark]);
    const result = await this.#saves.save({ ...SLOT, data: this.#marks });
    if (result.ok) this.saved++;
    this.#marks = union(this.#marks, result.data);
  }

  /** Ends the client in the middle of its work, and starts another one on the same store. */
  async crash(): Promise<void> {
    this.crashes++;
    void this.#saves.save({ ...SLOT, data: this.#marks });
    await pause(5 * Math.random());
    this.close();
    this.#start();
    // The game's memory is gone: it has what its client has kept, or what the service has, or nothing while the device is offline.
    const loaded = await this.#saves.load(SLOT, { timeoutMs: 2000 });
    this.#marks = loaded.ok ? loaded.data : [];
  }

  wake(): void {
    this.#saves.wake();
  }

  /** What the device has once all is sent. */
  async settled(): Promise<Marks | undefined> {
    this.isOffline = false;
    const loaded = await this.#saves.load(SLOT);
    if (!loaded.ok || loaded.pending) return undefined;
    return union(loaded.data);
  }

  /** Whether its store has the mark, in a save that waits. */
  keeps(mark: string): boolean {
    return [...this.#store.kept.values()].some((text) => text.includes(mark));
  }

  close(): void {
    this.#client.close();
  }
}
