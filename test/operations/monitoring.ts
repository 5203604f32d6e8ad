import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { entryLetters } from '../../src/features/coins/model.ts';
import { freePort } from '../free-port.ts';
import { ask, Client } from '../proofs/client.ts';
import type { Figures } from '../proofs/figures.ts';
import { operate } from '../proofs/operator-tool.ts';
import { startChild, type Child } from '../realtime/child.ts';
import { watchRoom } from '../realtime/watcher.ts';
import { programPath, startProgram } from './programs.ts';
import { childEnvironment } from '../environment.ts';

const project = fileURLToPath(new URL('../../', import.meta.url));
const files = fileURLToPath(new URL('../../docs/operations/', import.meta.url));

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

/** Every query of the dashboard, with the variables that Grafana would put in. */
function dashboardQueries(): { title: string; query: string }[] {
  const { panels } = JSON.parse(readFileSync(join(files, 'dashboard.json'), 'utf8')) as { panels: Panel[] };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, query: expr.replaceAll('$__rate_interval', '20s').replaceAll('$instance', '.*') })),
  );
}

/** `promtool check` and `promtool test` on the files, as an operator runs them. */
function promtool(figures: Figures, what: string, args: readonly string[], input?: string): void {
  const { status, stdout, stderr } = spawnSync(programPath('promtool'), args, { cwd: files, encoding: 'utf8', input });
  if (status !== 0) console.log(`${stdout}${stderr}`.replace(/^/gm, '    '));
  figures.exactly(`promtool ${what}: exit code`, status ?? -1, 0);
}

/** The command with which each paragraph of the runbook begins, by the name of its alert. */
function runbookCommands(): [alert: string, command: string][] {
  const text = readFileSync(join(files, 'runbook.md'), 'utf8');
  return [...text.matchAll(/^### (\w+)\n\n```sh\n(.+)\n```$/gm)].map(([, alert, command]) => [alert!, command!]);
}

/** Pastes each command of the runbook, with what its first lines define for this service. */
function proveCommands(folder: string, { url, port, output }: Child, { settings, hook }: Defined, figures: Figures): void {
  const log = join(folder, 'log');
  writeFileSync(log, output());
  const redisCli = existsSync(join(project, '.cache/redis/redis-cli')) ? join(project, '.cache/redis/redis-cli') : 'redis-cli';
  const definitions = `base=${url}
metrics() { curl -sS http://127.0.0.1:${settings['METRICS_PORT']}/metrics; }
log() { cat ${log}; }
redis() { ${redisCli} -s ${join(folder, 'data/redis.sock')} "$@"; }
hook=${hook}`;
  const commands = runbookCommands();
  const failed = commands.filter(([alert, command]) => {
    // PORT: without it the doctor would ask a service of somebody else.
    const env = childEnvironment({ HOME: process.env['HOME'] ?? '', ...settings, PORT: String(port) });
    const script = `set -o pipefail\n${definitions}\n${command}`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { cwd: project, env, encoding: 'utf8' });
    // grep ends with 1 if there is no such line. The log and the deliveries of a healthy service have none.
    const isRight = (status === 0 || (status === 1 && /(log|deliveries "\$hook") \| grep/.test(command))) && stderr === '';
    if (isRight && (stdout !== '' || command.startsWith('log | '))) return false;
    console.log(`    ${alert}: ${command}: ${status} ${stdout}${stderr}`);
    return true;
  });
  figures.report('commands of the runbook', commands.length);
  figures.exactly('commands of the runbook that do not work', failed.length, 0);
}

/** The settings of the service, and what else the first lines of the runbook define. */
interface Defined {
  readonly settings: Readonly<Record<string, string>>;
  readonly hook: string;
}

/** Evaluates every panel and every alert on a service with some traffic and a Prometheus that scrapes it. */
export async function proveMonitoring(folder: string, figures: Figures): Promise<void> {
  promtool(figures, 'check config', ['check', 'config', 'prometheus.yml']);
  promtool(figures, 'check rules', ['check', 'rules', 'alerts.yml']);
  promtool(figures, 'test rules', ['test', 'rules', 'alerts.test.yml']);

  const [metricsPort, port] = [await freePort(), await freePort()];
  // Everything that has metrics of its own.
  const parts = { WORKERS: '2', AUDIT_EVERY_HOURS: '1', RATE_LIMIT: 'on', EVENTS: 'on', WEBHOOKS_PRIVATE: 'on' };
  const settings = { DATA_DIR: join(folder, 'data'), METRICS_PORT: metricsPort, ...parts };
  const service = await startChild(settings);
  const endpoint = createServer((_, response) => void response.writeHead(204).end()).listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  const added = operate(['webhooks', 'add', `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/`], settings);
  const hook = added.webhook.id as string;
  const configFile = configFor(folder, metricsPort);
  const args = [`--config.file=${configFile}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`, `--web.listen-address=127.0.0.1:${port}`];
  const prometheus = await startProgram('prometheus', args, Number(port));
  const api = `http://127.0.0.1:${port}/api/v1`;
  const query = async (text: string): Promise<string[]> => {
    const { status, body } = await ask(`${api}/query?query=${encodeURIComponent(text)}`);
    if (status !== 200) throw new Error(`${text}: ${body.error}`);
    return (body.data.result as { value: [number, string] }[]).map(({ value }) => value[1]);
  };
  try {
    figures.exactly('/metrics on the port of the clients: status', (await ask(`${service.url}/metrics`)).status, 404);
    const client = new Client(() => service.url);
    // Rates need two scrapes of every series, and the first audit begins after five seconds.
    const until = performance.now() + 25_000;
    await traffic(client, () => performance.now() > until);
    client.close();
    promtool(figures, 'check metrics', ['check', 'metrics'], (await ask(`http://127.0.0.1:${metricsPort}/metrics`)).body as string);
    const queries = dashboardQueries();
    let empty = 0;
    for (const { title, query: text } of queries) {
      const values = await query(text);
      if (values.length > 0 && values.every((value) => Number.isFinite(Number(value)))) continue;
      empty++;
      console.log(`    ${title}: ${text} = ${values.join(' ') || 'nothing'}`);
    }
    figures.report('queries of the dashboard', queries.length);
    figures.exactly('queries of the dashboard without data', empty, 0);
    await proveAlerts(api, query, figures);
    proveCommands(folder, service, { settings, hook }, figures);
    const sums = await query('sum by (type) (coinop_coins_in_total)');
    figures.exactly('types of coins in the metrics', sums.length, Object.keys(entryLetters).length);
    await service.stop('SIGKILL');
    await pause(4000);
    const alerts = (await ask(`${api}/alerts`)).body.data.alerts as { labels: { alertname: string }; state: string }[];
    const down = alerts.filter(({ labels }) => labels.alertname === 'CoinopDown').length;
    figures.exactly('alerts CoinopDown after a SIGKILL', down, 1);
  } finally {
    await prometheus.stop();
    await service.stop();
    endpoint.closeAllConnections();
    endpoint.close();
  }
}

async function proveAlerts(api: string, query: (text: string) => Promise<string[]>, figures: Figures): Promise<void> {
  const rules = ((await ask(`${api}/rules`)).body.data.groups as { rules: Rule[] }[]).flatMap((group) => group.rules);
  const broken = rules.filter(({ health }) => health !== 'ok');
  for (const { name, lastError } of broken) console.log(`    ${name}: ${lastError}`);
  figures.report('alert rules', rules.length);
  figures.exactly('alert rules that Prometheus could not evaluate', broken.length, 0);
  const firing = rules.filter(({ state }) => state === 'firing');
  figures.exactly('alerts that fire on a healthy service', firing.length, 0);
  // An alert whose metric is spelt wrong would never fire.
  const selectors = new Set(rules.flatMap(({ query: text }) => text.match(/\b(?:coinop|process)_\w+|\bup\b/g) ?? []));
  const missing: string[] = [];
  for (const selector of selectors) if ((await query(`count(${selector})`)).length === 0) missing.push(selector);
  figures.report('metrics in alerts that the service does not have', missing.length, missing.join(', ') || '= 0', missing.length === 0);
}

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly state: string;
  readonly query: string;
  readonly lastError?: string;
}

/** The sample with the address of this service, and with shorter intervals. */
function configFor(folder: string, metricsPort: string): string {
  mkdirSync(folder, { recursive: true });
  const sample = readFileSync(join(files, 'prometheus.yml'), 'utf8');
  const found = / {4}dns_sd_configs:\n(?: {6}.*\n)+/.exec(sample);
  if (found === null) throw new Error('the sample has no dns_sd_configs');
  const config = sample
    .replace(found[0], `    static_configs:\n      - targets: ["127.0.0.1:${metricsPort}"]\n`)
    .replaceAll('_interval: 15s', '_interval: 1s')
    .replace('alerts.yml', join(files, 'alerts.yml'));
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, config);
  return file;
}

/** Some traffic of every kind that the dashboard shows. */
async function traffic(client: Client, isOver: () => boolean): Promise<void> {
  const host = { installId: 'traffic-host' };
  const { code } = (await client.need('/v1/rooms', host)).room;
  const watcher = await watchRoom({ url: client.url }, code);
  for (let index = 0; !isOver(); index++, await pause(100)) {
    const installId = `traffic-${index % 20}-install`;
    await client.post('/v1/coins/credit', { installId, coins: 10, key: `credit-${index}` });
    await client.post('/v1/coins/credit', { installId, coins: 10, key: `credit-${index}` });
    await client.post('/v1/coins/purchase', { installId, coins: 5, key: `purchase-${index}` });
    await client.post('/v1/coins/debit', { installId, coins: 3, key: `debit-${index}` });
    await client.post('/v1/coins/debit', { installId, coins: 999_999, key: `too-much-${index}` });
    await client.post(`/v1/rooms/${code}/state`, { ...host, state: { index } });
    await client.ask('/v1/balance', { installId });
  }
  await watcher.close();
}
