import { redisFailure, type ScriptRunner } from './script-runner.ts';

/** Primaries of a Cluster that are tried. */
const MOST_PRIMARIES = 3;

/** Names that are drawn to find one on another primary. Of two primaries with equal shares one call in a million finds none. */
const MOST_DRAWS = 20;

interface AnyName<Result> {
  /** Makes a random name, such as the code of a new room. */
  readonly draw: () => string;
  readonly keyOf: (name: string) => string;
  readonly run: (name: string) => Promise<Result>;
}

/**
 * Runs a script for something new, whose name may be any. While the primary of the name is away another name is drawn: whoever asks lies
 * on a primary of its own.
 */
export async function onAnyPrimary<Result>(
  { draw, keyOf, run }: AnyName<Result>,
  scripts: Pick<ScriptRunner, 'areTogether'>,
): Promise<Result> {
  let name = draw();
  for (let tries = 1; ; tries++) {
    try {
      return await run(name);
    } catch (error) {
      if (tries === MOST_PRIMARIES || redisFailure(error) !== 'not_applied') throw error;
      const refused = keyOf(name);
      const other = Array.from({ length: MOST_DRAWS }, draw).find((drawn) => !scripts.areTogether(refused, keyOf(drawn)));
      // One Redis has no other primary.
      if (other === undefined) throw error;
      name = other;
    }
  }
}
