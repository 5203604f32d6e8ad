import type { RunResult } from '../result.ts';
import { barPicture } from './bars.ts';
import { curvePicture } from './curves.ts';
import { latencyPicture } from './latencies.ts';
import type { Svg } from './svg.ts';
import { numberText } from './table.ts';

/** The pictures of a run by file name; one that nothing was measured for is left out. */
export function pictures({ scenarios, settings, partial }: RunResult): Record<string, Svg> {
  const compared = scenarios.filter(({ sides }) => sides.every(({ at }) => at === undefined));
  const warning = partial ? ' Partial results.' : settings.quick ? ' A quick run: not to be read as figures.' : '';
  const drawn: Record<string, Svg | undefined> = {
    'cpu.svg': barPicture(compared, {
      title: 'CPU per operation',
      subtitle: `Server process, and lighter its Redis, in µs. Shorter is better; lengths compare within a group.${warning}`,
      figure: 'serverCpu',
      second: 'redisCpu',
      valueText: ({ figures: { serverCpu, redisCpu } }) => {
        const parts = [serverCpu, redisCpu].map((figure) =>
          figure === undefined || figure.median < 0.05 ? undefined : numberText(figure.median, 1),
        );
        if (parts[0] === undefined) return `${parts[1] ?? ''} µs in Redis`;
        return parts[1] === undefined ? `${parts[0]} µs` : `${parts[0]} + ${parts[1]} µs`;
      },
    }),
    'throughput.svg': barPicture(compared, {
      title: 'Throughput',
      subtitle: `${settings.connections} connections, each asking again once answered; server, Redis and load share the cores. Longer is better.${warning}`,
      figure: 'perSecond',
      valueText: ({ figures: { perSecond } }) => `${numberText(perSecond?.median ?? 0, 0)}/s`,
    }),
    'latency.svg': latencyPicture(compared),
    'growth.svg': curvePicture(scenarios),
  };
  return Object.fromEntries(Object.entries(drawn).filter((entry): entry is [string, Svg] => entry[1] !== undefined));
}
