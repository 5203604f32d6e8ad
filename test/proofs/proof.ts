import type { Figures } from './figures.ts';
import type { History } from './history.ts';
import type { Place } from './place.ts';

/** A part of a proof. `npm run prove:<proof>` runs all of its parts. */
export interface Part {
  readonly proof: string;
  readonly name: string;
  readonly about: string;
  /** Seconds that it takes on two quiet cores. */
  readonly seconds: number;
  /** The least seconds in which it shows something. Default: it needs all of them. */
  readonly least?: number | undefined;
  prove(stand: Stand): Promise<void>;
}

/** The surroundings of a part, and the target of its figures. */
export interface Stand {
  /** A temporary folder. */
  readonly folder: string;
  /** Counts from 0. */
  readonly run: number;
  /** The size of the load. 1: full size. */
  readonly size: number;
  /** The time on the clock of `now` at which the load has to end. Infinity without `--minutes`. */
  readonly endsBy: number;
  /** Flags that single parts have. */
  readonly flags: {
    readonly turn: number;
    readonly match: string;
    readonly seed: number;
    readonly store: 'google' | 'apple' | 'both';
    readonly 'without-suite': boolean;
    readonly 'working-tree': boolean;
  };
  readonly history: History;
  readonly figures: Figures;
  /** Called at the end or at a signal, the last one first. */
  readonly closing: (() => unknown)[];
}

/** Audits all data at the end of a proof. */
export async function reportAudit(figures: Figures, place: Place): Promise<void> {
  const { code, out, error } = await place.audit(['--full-speed', '--list', '5']);
  figures.exactly('exit code of npm run audit', code, 0);
  if (code !== 0) console.log(`${out}${error}`.trim().replaceAll(/^/gm, '  '));
}
