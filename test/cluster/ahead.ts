import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyService } from './unguarded.ts';

/** A place in the service, and what stands there in a copy whose clocks are ahead. */
const SHIFTS = [
  {
    file: 'src/redis/script-text.ts',
    from: '...(form.timeAheadMs === undefined ? [] : [timeShift(form.timeAheadMs)]),',
    to: "timeShift(Number(process.env['CLOCK_AHEAD_MS'])),",
  },
  {
    file: 'src/serving/handler-services.ts',
    from: 'now = Date.now,',
    to: "now = () => Date.now() + Number(process.env['CLOCK_AHEAD_MS']),",
  },
];

/**
 * Copies the service with the clocks of its processes, and Redis's as scripts see it, ahead by the setting CLOCK_AHEAD_MS. So a season ends
 * while a proof watches.
 * @returns the copy's main.ts
 */
export function copyAhead(folder: string): string {
  const main = copyService(folder);
  for (const { file, from, to } of SHIFTS) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} has no "${from}" to replace`);
    writeFileSync(path, text.replace(from, to));
  }
  return main;
}
