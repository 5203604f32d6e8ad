import { figures, type FigureName } from '../figures.ts';
import type { Figure, ScenarioResult, SideResult } from '../result.ts';

/** Figures of which a lower value is better. Rates are left out, because CPU and latency show the same. */
const COSTS = [
  'serverCpu',
  'redisCpu',
  'cpu',
  'p50',
  'p99',
  'p999',
  'watcherBytes',
  'entryBytes',
  'accountBytes',
  'lastStateP99',
] as const satisfies readonly FigureName[];

interface Better {
  readonly name: FigureName;
  readonly peer: SideResult;
  readonly theirs: Figure;
  readonly ours: Figure;
}

/**
 * A sentence that names, for each cost, the peer with the lowest median when that is below the service's. Floors are left
 * out, because they do less work. Undefined when no peer is better in any cost.
 */
export function betterPeers({ sides }: ScenarioResult, text: (value: number, digits: number) => string): string | undefined {
  const service = sides.find(({ kind }) => kind === 'service');
  const peers = sides.filter(({ kind }) => kind === 'peer');
  const better = COSTS.map((name) => bestPeer(name, service, peers)).filter((found) => found !== undefined);
  if (better.length === 0) return undefined;
  const parts = better.map(({ name, peer, theirs, ours }) => {
    const { label, unit, digits } = figures[name];
    const overlap = theirs.upper >= ours.lower ? ', quartiles overlap' : '';
    return `${peer.name} in ${label} (${text(theirs.median, digits)} against ${text(ours.median, digits)} ${unit}${overlap})`;
  });
  return `Better than ${service!.name}: ${parts.join('; ')}.`;
}

function bestPeer(name: FigureName, service: SideResult | undefined, peers: readonly SideResult[]): Better | undefined {
  const ours = service?.figures[name];
  if (ours === undefined) return undefined;
  let best: Better | undefined;
  for (const peer of peers) {
    const theirs = peer.figures[name];
    if (theirs !== undefined && theirs.median < (best?.theirs ?? ours).median) best = { name, peer, theirs, ours };
  }
  return best;
}
