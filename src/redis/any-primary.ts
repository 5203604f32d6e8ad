import { redisFailure, type ScriptRunner } from './script-runner.ts';

/** The highest number of primaries on which the script is tried. */
const MOST_PRIMARIES = 3;

/**
 * The highest number of random names that are drawn to find a name on another primary. With two equal primaries 1 call in a million finds
 * none.
 */
const MOST_DRAWS = 20;

interface AnyName<Result> {
  /** Makes a random name, such as the code of a new room. */
  readonly draw: () => string;
  readonly keyOf: (name: string) => string;
  readonly run: (name: string) => Promise<Result>;
}

/**
 * Runs a script for a new object with a random name. If the primary of the name is down, draws a name that belongs to another primary. So
 * one primary that is down does not stop the creation of objects.
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
      const elsewhere = Array.from({ length: MOST_DRAWS }, draw).find((drawn) => !scripts.areTogether(refused, keyOf(drawn)));
      // A single Redis has no other primary.
      if (elsewhere === undefined) throw error;
      name = elsewhere;
    }
  }
}
