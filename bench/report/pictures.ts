import type { RunResult, ScenarioResult, SideResult } from '../result.ts';
import { barPicture, type BarGroup } from './bars.ts';
import { growthPicture, overloadPicture } from './curves.ts';
import { latencyPicture } from './latencies.ts';
import { WHISKERS, type Svg } from './svg.ts';
import { numberText } from './numbers.ts';

/** The pictures of a run, by file name. A picture without figures is left out. */
export function pictures({ scenarios, settings, partial }: RunResult): Record<string, Svg> {
  const compared = scenarios.filter(({ sides }) => sides.every(({ at }) => at === undefined));
  const mark = settings.quick ? 'quick run: no measurement' : partial ? 'partial results' : undefined;
  const drawn: Record<string, Svg | undefined> = {
    'cpu.svg': barPicture({
      title: 'CPU per operation',
      subtitle: 'Server, and in a lighter colour its Redis, in µs, saturated. Shorter is better. Each group has its own scale.',
      note: WHISKERS,
      groups: compared.flatMap((scenario) => [cpuGroup(scenario), ...redisAlone(scenario)]),
      mark,
    }),
    'throughput.svg': barPicture({
      title: 'Throughput',
      subtitle: `${settings.connections} connections, saturated; load, server and Redis share the cores. Longer is better.`,
      note: WHISKERS,
      groups: compared.map(rateGroup),
      mark,
    }),
    'latency.svg': latencyPicture(compared, mark),
    'growth.svg': growthPicture(scenarios, mark),
    'overload.svg': overloadPicture(scenarios, mark),
  };
  return Object.fromEntries(Object.entries(drawn).filter((entry): entry is [string, Svg] => entry[1] !== undefined));
}

function cpuGroup({ title, operation, sides }: ScenarioResult): BarGroup {
  return { title, more: `per ${operation}`, sides, figure: 'serverCpu', second: 'redisCpu', valueText: cpuText };
}

/** A scenario with a side that is a Redis without a server gets a second group that compares Redis's CPU alone. */
function redisAlone({ title, operation, sides }: ScenarioResult): BarGroup[] {
  if (sides.every(hasServer)) return [];
  const valueText = ({ figures: { redisCpu } }: SideResult): string => `${numberText(redisCpu?.median ?? 0, 1)} µs`;
  return [{ title: `${title}: Redis alone`, more: `per ${operation}`, sides, figure: 'redisCpu', valueText }];
}

function rateGroup({ title, operation, sides }: ScenarioResult): BarGroup {
  const valueText = ({ figures: { perSecond } }: SideResult): string => `${numberText(perSecond?.median ?? 0, 0)}/s`;
  return { title, more: `${operation} rate`, sides: sides.filter(hasServer), figure: 'perSecond', valueText };
}

function hasServer({ figures: { serverCpu } }: SideResult): boolean {
  return serverCpu !== undefined;
}

function cpuText({ figures: { serverCpu, redisCpu } }: SideResult): string {
  const parts = [serverCpu, redisCpu].filter((figure) => figure !== undefined && figure.median >= 0.05);
  return `${parts.map((figure) => numberText(figure!.median, 1)).join(' + ')} µs`;
}
