import { copyService, type Change } from './unguarded.ts';

const SHIFTS: readonly Change[] = [
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
 * Copies the service with clocks that are ahead by the setting CLOCK_AHEAD_MS: the clocks of its processes, and Redis's clock in scripts. So
 * a season ends during a proof.
 * @returns the copy's main.ts
 */
export function copyAhead(folder: string): string {
  return copyService(folder, SHIFTS);
}
