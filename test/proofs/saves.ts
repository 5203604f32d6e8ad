import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { coinop, type Client } from '../../src/client/client.ts';
import type { Fetch } from '../../src/client/request.ts';
import { savesOf, type Saves } from '../../src/client/saves.ts';
import { TestStore } from '../client/player.ts';
import { times } from './client.ts';
import { within } from './history.ts';
import { AtPlace, type Load } from './scenario.ts';

const PLAYERS = 200;
const SLOT = { game: 'prove', name: 'slot' } as const;

/** Every play of a game adds one mark to its save. */
type Marks = readonly string[];

const union = (...all: readonly (Marks | undefined)[]): Marks => [...new Set(all.flatMap((marks) => marks ?? []))].sort();

/** How long devices may take to send what they have, once no fault disturbs them. */
const SETTLED_MS = 60_000;

/**
 * Players on two devices, which go offline in turns and crash. Each play reads what the device has, adds a mark and saves. A conflict merges
 * the marks of both sides, so no mark may be missing at the end.
 */
export class PlayedSaves extends AtPlace implements Load {
  readonly #players = times(Math.ceil(PLAYERS * this.stand.size), () => {
    const installId = `prove-${randomBytes(8).toString('hex')}`;
    return [new Device(installId, this), new Device(installId, this)] as const;
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
    const { figures } = this.stand;
    let [lost, apart] = [0, 0];
    await Promise.all(
      this.#players.map(async (devices) => {
        const played = union(...devices.map(({ played: marks }) => marks));
        const read = async () => Promise.all(devices.map((device) => device.settled()));
        let both = await read();
        await within(SETTLED_MS, async () => ((both = await read()), both.every((marks) => marks?.length === played.length)), 200);
        lost += played.length - (both[0]?.length ?? 0);
        if (JSON.stringify(both[0]) !== JSON.stringify(both[1])) apart++;
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
    return { 'marks that are lost': lost, 'players whose devices differ': apart, 'conflicts that a game saw twice': twice };
  }
}

/** A device of a player. Its store outlives its crashes. */
class Device {
  isOffline = false;
  saved = 0;
  crashes = 0;
  played: Marks = [];
  /** The versions with which its saves were in conflict. */
  readonly conflicts: string[] = [];
  readonly #store = new TestStore();
  readonly #installId: string;
  readonly #load: PlayedSaves;
  #client!: Client;
  #saves!: Saves<Marks>;
  #marks: Marks = [];

  constructor(installId: string, load: PlayedSaves) {
    [this.#installId, this.#load] = [installId, load];
    this.#start();
  }

  #start(): void {
    const send: Fetch = (url, init) => {
      if (this.isOffline) return Promise.reject(new TypeError('offline'));
      return fetch(url.replace('http://service', this.#load.place.url()), init);
    };
    const options = { url: 'http://service', fetch: send, WebSocket: null, installId: this.#installId, store: this.#store };
    this.#client = coinop({ ...options, onWarning() {} });
    this.#saves = savesOf<Marks>(this.#client, {
      onConflict: (mine, theirs) => {
        this.conflicts.push(`${theirs.version} ${JSON.stringify(theirs.data)}`);
        return union(mine.data, theirs.data);
      },
    });
  }

  /** Adds a mark to what the device has, and saves. */
  async play(): Promise<void> {
    const mark = randomBytes(4).toString('hex');
    this.played = [...this.played, mark];
    this.#marks = union(this.#marks, [mark]);
    const result = await this.#saves.save({ ...SLOT, data: this.#marks });
    if (!result.ok) return;
    this.saved++;
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

  close(): void {
    this.#client.close();
  }
}
