import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { expect, test } from 'vitest';

/** Runs in a separate process, because it changes the allowed cores of its process. */
function sharedOut(before: readonly string[] = []): { command: string[]; cores: number } {
  const module = new URL('../../../bench/compare/cores.ts', import.meta.url).href;
  const script = `
    import { availableParallelism } from 'node:os';
    import { reserveCore } from ${JSON.stringify(module)};
    const command = reserveCore();
    console.log(JSON.stringify({ command, cores: availableParallelism() }));`;
  const command = [...before, process.execPath, '--input-type=module', '--eval', script];
  const { stdout } = spawnSync(command[0]!, command.slice(1), { encoding: 'utf8' });
  return JSON.parse(stdout) as { command: string[]; cores: number };
}

const hasTaskset = spawnSync('taskset', ['--version']).status === 0;

test.skipIf(!hasTaskset || availableParallelism() < 2)('the services get one core alone, and the load gets the others', () => {
  const { command, cores } = sharedOut();
  expect(command).toEqual(['taskset', '-c', expect.stringMatching(/^\d+$/)]);
  expect(cores).toBe(availableParallelism() - 1);
  const onServices = spawnSync(command[0]!, [...command.slice(1), process.execPath, '-p', 'os.availableParallelism()'], {
    encoding: 'utf8',
  });
  expect(onServices.stdout.trim()).toBe('1');
});

test.skipIf(!hasTaskset)('on a machine with one core the services and the load share it', () => {
  const { command, cores } = sharedOut(['taskset', '-c', '0']);
  expect(command).toEqual([]);
  expect(cores).toBe(1);
});
