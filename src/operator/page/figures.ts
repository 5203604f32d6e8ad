import { z } from 'zod';
import { endpoint, type Services, type ScriptServices } from '../../declare.ts';
import { ServerKeyChanges } from '../../server/identity/server-key-changes.ts';
import { People } from '../../server/identity/people.ts';
import { KEY_PREFIX } from '../../server/identity/server-keys.ts';
import { revision } from '../../web/revision.ts';
import { version } from '../../web/version.ts';
import { refuseWithoutKey } from '../endpoints.ts';

const Figure = z.object({ name: z.string(), value: z.number() });

/** The figures of `/metrics` that the console shows. For their history there is Grafana. */
const SHOWN = [
  'coinop_http_requests_in_flight',
  'coinop_live_sockets',
  'coinop_accounts_created_total',
  'coinop_coins_in_total',
  'coinop_coins_out_total',
  'coinop_debt_coins',
  'coinop_purchases_overdue_total',
  'coinop_account_deletions_waiting',
  'coinop_redis_memory_used_bytes',
  'coinop_redis_memory_max_bytes',
] as const;

/** Answers the first question of a support person: is the service well? */
export const figures = endpoint({
  method: 'GET',
  path: '/console/figures',
  caller: 'none',
  keyScope: 'admin',
  // Making the text of all metrics takes some milliseconds.
  costly: true,
  summary: 'Whether the service works well, for the console.',
  reply: z.object({
    ready: z.boolean(),
    problem: z.string().optional(),
    version: z.string(),
    revision: z.string(),
    audit: z.object({ endedAt: z.iso.datetime(), findings: z.number(), seconds: z.number() }).optional(),
    figures: z.array(Figure),
  }),
  errors: ['server_only', 'forbidden'],
  example: '',
  async handle({ key }, { readiness, metricsText }: Pick<Services, 'readiness' | 'metricsText'>) {
    if (key === undefined) return refuseWithoutKey();
    const [{ ok: ready, problem }, text] = await Promise.all([readiness(), metricsText()]);
    const values = valuesOf(text);
    const endedAt = values.get('coinop_audit_last_run_timestamp_seconds');
    const audit = {
      endedAt: new Date((endedAt ?? 0) * 1000).toISOString(),
      findings: values.get('coinop_audit_findings') ?? 0,
      seconds: values.get('coinop_audit_last_run_duration_seconds') ?? 0,
    };
    return {
      ready,
      ...(problem === undefined ? {} : { problem }),
      version,
      revision,
      ...(endedAt === undefined ? {} : { audit }),
      figures: SHOWN.flatMap((name) => (values.has(name) ? [{ name, value: values.get(name)! }] : [])),
    };
  },
});

/** The sum of each metric over its labels, from a Prometheus text. */
function valuesOf(text: string): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [, name = '', value] of text.matchAll(/^(coinop_\w+)(?:\{[^\n]*\})? ([-+.\deE]+)$/gm))
    sums.set(name, (sums.get(name) ?? 0) + Number(value));
  return sums;
}

/** The names of operators, for entries of the log. All operators see these names. Only an admin sees other keys and their rights. */
export const operatorNames = endpoint({
  method: 'GET',
  path: '/console/operators',
  caller: 'none',
  keyScope: 'admin',
  summary: 'The names of operators, by their keys and sign-ins, for the console.',
  reply: z.object({ operators: z.array(z.object({ id: z.string(), name: z.string() })) }),
  errors: ['server_only', 'forbidden'],
  example: '',
  async handle({ key }, { scripts, now }: ScriptServices) {
    if (key === undefined) return refuseWithoutKey();
    const [keys, people] = await Promise.all([new ServerKeyChanges(scripts, now).operators(), new People(scripts).all()]);
    return { operators: [...keys.map(({ id, name }) => ({ id: KEY_PREFIX + id, name })), ...people.map(({ id, name }) => ({ id, name }))] };
  },
});
