import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../environment.ts';
import { freePort } from '../free-port.ts';
import { ask, Client } from '../proofs/client.ts';
import type { Figures } from '../proofs/figures.ts';
import { operate } from '../proofs/operator-tool.ts';
import type { Stand } from '../proofs/proof.ts';
import { startChild, type Child } from '../realtime/child.ts';
import { watchRoom } from '../realtime/watcher.ts';
import { programPath, startProgram } from './programs.ts';

const project = fileURLToPath(new URL('../../', import.meta.url));
const files = join(project, 'docs/operations');

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly state: string;
  readonly query: string;
  readonly lastError?: string;
}

type Query = (text: string) => Promise<string[]>;

/** Evaluates every panel and every alert on a service with some traffic and a Prometheus that scrapes it. */
export async function proveMonitoring(stand: Stand): Promise<void> {
  const { folder, figures, closing } = stand;
  promtool(figures, 'check config prometheus.yml');
  promtool(figures, 'check rules alerts.yml');
  promtool(figures, 'test rules alerts.test.yml');

  const metricsPort = await freePort();
  // Everything that has metrics of its own.
  const parts = { WORKERS: '2', AUDIT_EVERY_HOURS: '1', RATE_LIMIT: 'on', EVENTS: 'on', WEBHOOKS_PRIVATE: 'on' };
  const settings = { DATA_DIR: join(folder, 'data'), METRICS_PORT: metricsPort, ...parts };
  const service = await startChild(settings);
  const endpoint = createServer((_, response) => void response.writeHead(204).end()).listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  closing.push(() => [service.stop(), endpoint.closeAllConnections(), endpoint.close()]);
  const added = operate(['webhooks', 'add', `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/`], settings);
  const api = await startPrometheus(stand, metricsPort);
  const query: Query = async (text) => {
    const { status, body } = await ask(`${api}/query?query=${encodeURIComponent(text)}`);
    if (status !== 200) throw new Error(`${text}: ${body.error}`);
    return (body.data.result as { value: [number, string] }[]).map(({ value }) => value[1]);
  };
  await traffic(service.url);
  promtool(figures, 'check metrics', (await ask(`http://127.0.0.1:${metricsPort}/metrics`)).body as string);
  await proveDashboard(query, figures);
  await proveAlerts(api, query, figures);
  proveCommands(service, settings, added.webhook.id as string, stand);
  await service.stop('SIGKILL');
  await pause(4000);
  const alerts = (await ask(`${api}/alerts`)).body.data.alerts as { labels: { alertname: string } }[];
  figures.exactly('alerts CoinopDown after a SIGKILL', alerts.filter(({ labels }) => labels.alertname === 'CoinopDown').length, 1);
}

/** `promtool check` and `promtool test` on the files, as an operator runs them. */
function promtool(figures: Figures, command: string, input?: string): void {
  const { status, stdout, stderr } = spawnSync(programPath('promtool'), command.split(' '), { cwd: files, encoding: 'utf8', input });
  if (status !== 0) console.log(`${stdout}${stderr}`.replace(/^/gm, '    '));
  figures.exactly(`promtool ${command}: exit code`, status, 0);
}

/** Starts Prometheus with the sample, the address of this service, and shorter intervals. @returns the address of its API */
async function startPrometheus({ folder, closing }: Stand, metricsPort: string): Promise<string> {
  const sample = readFileSync(join(files, 'prometheus.yml'), 'utf8');
  const found = / {4}dns_sd_configs:\n(?: {6}.*\n)+/.exec(sample);
  if (found === null) throw new Error('the sample has no dns_sd_configs');
  const config = sample
    .replace(found[0], `    static_configs:\n      - targets: ["127.0.0.1:${metricsPort}"]\n`)
    .replaceAll('_interval: 15s', '_interval: 1s')
    .replace('alerts.yml', join(files, 'alerts.yml'));
  const file = join(folder, 'prometheus.yml');
  writeFileSync(file, config);
  const port = await freePort();
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, 'tsdb')}`, `--web.listen-address=127.0.0.1:${port}`];
  const { stop } = await startProgram('prometheus', args, Number(port));
  closing.push(stop);
  return `http://127.0.0.1:${port}/api/v1`;
}

/** Some traffic of every kind that the dashboard shows. Rates need two scrapes of every series, and the first audit begins after 5 s. */
async function traffic(url: string): Promise<void> {
  const client = new Client(() => url);
  const host = { installId: 'traffic-host' };
  const { code } = (await client.need('/v1/rooms', host)).room;
  const watcher = await watchRoom({ url }, code);
  const until = performance.now() + 25_000;
  for (let index = 0; performance.now() < until; index++, await pause(100)) {
    const installId = `traffic-${index % 20}-install`;
    for (const [kind, coins, key] of [
      ['credit', 10, 'credit'],
      ['credit', 10, 'credit'],
      ['purchase', 5, 'purchase'],
      ['debit', 3, 'debit'],
      ['debit', 999_999, 'too-much'],
    ])
      await client.post(`/v1/coins/${kind}`, { installId, coins, key: `${key}-${index}` });
    await client.post(`/v1/rooms/${code}/state`, { ...host, state: { index } });
    await client.ask('/v1/balance', { installId });
  }
  await watcher.close();
  client.close();
}

/** Every query of the dashboard, with the variables that Grafana would put in. */
async function proveDashboard(query: Query, figures: Figures): Promise<void> {
  const { panels } = JSON.parse(readFileSync(join(files, 'dashboard.json'), 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  let [asked, empty] = [0, 0];
  for (const { title, targets = [] } of panels) {
    for (const { expr } of targets) {
      const text = expr.replaceAll('$__rate_interval', '20s').replaceAll('$instance', '.*');
      const values = await query(text);
      asked++;
      if (values.length > 0 && values.every((value) => Number.isFinite(Number(value)))) continue;
      empty++;
      console.log(`    ${title}: ${text} = ${values.join(' ') || 'nothing'}`);
    }
  }
  figures.report('queries of the dashboard', asked);
  figures.exactly('queries of the dashboard without data', empty, 0);
}

async function proveAlerts(api: string, query: Query, figures: Figures): Promise<void> {
  const rules = ((await ask(`${api}/rules`)).body.data.groups as { rules: Rule[] }[]).flatMap((group) => group.rules);
  const broken = rules.filter(({ health }) => health !== 'ok');
  for (const { name, lastError } of broken) console.log(`    ${name}: ${lastError}`);
  figures.report('alert rules', rules.length);
  figures.exactly('alert rules that Prometheus could not evaluate', broken.length, 0);
  figures.exactly('alerts that fire on a healthy service', rules.filter(({ state }) => state === 'firing').length, 0);
  // An alert whose metric is spelt wrong would never fire.
  const selectors = new Set(rules.flatMap(({ query: text }) => text.match(/\b(?:coinop|process)_\w+|\bup\b/g) ?? []));
  const missing: string[] = [];
  for (const selector of selectors) if ((await query(`count(${selector})`)).length === 0) missing.push(selector);
  figures.report('metrics in alerts that the service does not have', missing.length, missing.join(', ') || '= 0', missing.length === 0);
}

/** Pastes the command with which each paragraph of the runbook begins, with what its first lines define for this service. */
function proveCommands(
  { url, port, output }: Child,
  settings: Readonly<Record<'DATA_DIR' | 'METRICS_PORT', string>>,
  hook: string,
  { folder, figures }: Stand,
): void {
  const log = join(folder, 'log');
  writeFileSync(log, output());
  const ownCli = join(project, '.cache/redis/redis-cli');
  const definitions = `base=${url}
metrics() { curl -sS http://127.0.0.1:${settings.METRICS_PORT}/metrics; }
log() { cat ${log}; }
redis() { ${existsSync(ownCli) ? ownCli : 'redis-cli'} -s ${settings.DATA_DIR}/redis.sock "$@"; }
hook=${hook}`;
  // PORT: without it the doctor would ask a service of somebody else.
  const env = childEnvironment({ HOME: process.env['HOME'] ?? '', ...settings, PORT: String(port) });
  const runbook = readFileSync(join(files, 'runbook.md'), 'utf8');
  const commands = [...runbook.matchAll(/^### (\w+)\n\n```sh\n(.+)\n```$/gm)];
  const failed = commands.filter(([, alert, command]) => {
    const script = `set -o pipefail\n${definitions}\n${command}`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { cwd: project, env, encoding: 'utf8' });
    // grep ends with 1 if there is no such line. The log and the deliveries of a healthy service have none.
    const isRight = (status === 0 || (status === 1 && /(log|deliveries "\$hook") \| grep/.test(command!))) && stderr === '';
    if (isRight && (stdout !== '' || command!.startsWith('log | '))) return false;
    console.log(`    ${alert}: ${command}: ${status} ${stdout}${stderr}`);
    return true;
  });
  figures.report('commands of the runbook', commands.length);
  figures.exactly('commands of the runbook that do not work', failed.length, 0);
}
