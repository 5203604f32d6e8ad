import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { benchOutput } from '../bench-output.ts';

/** Comparisons need the git history, which a plain copy of the files lacks. */
const hasHistory = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname }).status === 0;

const { out, bench, close } = benchOutput();
afterAll(close);

test.skipIf(!hasHistory)(
  '--compare runs two checkouts in turns, but not what is no commit, and one pair of processes is too few for a verdict',
  async () => {
    const { code, stdout } = await bench(['--compare', 'HEAD', 'credit-session', '--minutes', '0.1']);
    expect(stdout).toMatch(/^ {2}credit-session +server CPU, µs\/request +[\d.]+ +[\d.]+ .*too few pairs +1 +not decided$/m);
    expect(stdout).toMatch(/^ {2}credit-session +Redis CPU, µs\/request +[\d.]+ +[\d.]+ .*not decided$/m);
    // The temporary folders of the checkout and of the data are removed.
    expect(readdirSync(out).toSorted()).toEqual(['compare.json', 'compare.md']);
    expect(code).toBe(0);
    const wrong = await bench(['--compare', 'HEAD:src']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/^bench: --compare "HEAD:src": .* has no such commit\n$/)]);
  },
  120_000,
);
