import { consoleOf, type Config } from '../../config.ts';
import { whoMintsCoins } from '../../features/coins/model.ts';
import { urlOnThisMachine } from '../../server/address.ts';
import { settingFingerprints } from '../../server/setting-fingerprints.ts';
import { version } from '../../web/version.ts';
import { BRING_BACK, type Diagnosis } from './diagnosis.ts';
import { distanceOf } from './network.ts';
import { isForOthers } from './settings.ts';

/**
 * The longest wait for an answer of the service, in milliseconds. The doctor may run on the service's machine while the machine is busy.
 * With a shorter wait it reported that no service answers.
 */
const ANSWER_MS = 10_000;

interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * Examines a running service, and whether everybody can read its metrics.
 * @param url the service's address; undefined: it follows from HOST and PORT
 */
export async function examineService(config: Config, url: string | undefined, diagnosis: Diagnosis): Promise<void> {
  await examineMetrics(config, diagnosis);
  if (config.ADMIN_API === 'on') await examineOperatorsPath(ADMIN_PATHS, config, diagnosis);
  if (consoleOf(config) === 'open') await examineOperatorsPath(CONSOLE_PAGE, config, diagnosis);
  const base = url ?? ownAddress(config);
  if (base === undefined) return diagnosis.fact('service', 'not asked: with PORT=0 its address is not known; name it by --url');
  const list = await ask(`${base}/?format=json`);
  if (list instanceof Error) {
    diagnosis.fact('service', `none answers at ${base} (${list.message})`);
    if (url !== undefined)
      diagnosis.find('danger', 'no_service', {
        text: `No service answers at ${base}: ${list.message}.`,
        cost: 'Nobody is served there.',
        mend: 'Start it, or name the address where it listens: --url',
      });
    return;
  }
  if ((jsonOf(list.text) as { service?: unknown } | undefined)?.service !== 'coinop') {
    diagnosis.fact('service', `something else answers at ${base}`);
    return diagnosis.find('warning', 'other_service', {
      text: `What answers at ${base} is not coinop.`,
      cost: 'A service with these settings cannot listen there.',
      mend: 'Another PORT, or the right address as --url',
    });
  }
  const [ready, metrics] = [await ask(`${base}/ready`), await ask(`${metricsAddress(config) ?? base}/metrics`)];
  const served = metrics instanceof Error ? undefined : /^coinop_build_info\{[^}]*\bversion="([^"]+)"/m.exec(metrics.text)?.[1];
  const state = ready instanceof Error ? ready.message : ready.status === 200 ? 'ready' : 'not ready';
  diagnosis.fact('service', `${base}, ${state}${served === undefined ? '' : `, version ${served}`}`);
  if (served !== undefined && served !== version)
    diagnosis.find('note', 'other_version', {
      text: `The service has version ${served}, but this command has version ${version}.`,
      cost: 'The findings about settings may not be true for that version.',
      mend: "Run the command of the service's version",
    });
  if (!(metrics instanceof Error)) examineSettingsOf(metrics.text, config, diagnosis);
  if (!(ready instanceof Error)) examineReadiness(ready, config, diagnosis);
}

/**
 * Compares the settings of the service with the settings of this command. A service of an older version does not publish fingerprints of
 * its settings.
 */
function examineSettingsOf(metrics: string, config: Config, diagnosis: Diagnosis): void {
  const served = new Map(
    [...metrics.matchAll(/^coinop_setting_info\{([^}]*)\} 1$/gm)].map(([, labels = '']) => {
      const label = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? '';
      return [label('setting'), label('fingerprint')] as const;
    }),
  );
  const others = [...settingFingerprints(config)].filter(([name, own]) => (served.get(name) ?? own) !== own).map(([name]) => name);
  if (others.length > 0)
    diagnosis.find('warning', 'other_settings', {
      text: `The service runs with other settings than this command: ${others.join(', ')}.`,
      cost: 'The findings about settings are not true for the service.',
      mend: OWN_SETTINGS,
    });
}

const OWN_SETTINGS = 'Run this command with the settings of the service: docker exec, or node --env-file=.env src/commands/doctor.ts';

function examineReadiness({ status, text }: Answer, config: Config, diagnosis: Diagnosis): void {
  const body = (jsonOf(text) ?? {}) as { error?: { message?: string }; degraded?: string[]; coinAuthority?: string };
  if (body.coinAuthority !== undefined && body.coinAuthority !== whoMintsCoins(config))
    diagnosis.find('warning', 'other_settings', {
      text: `The service runs with other settings than this command. It says who can mint coins: ${body.coinAuthority}.`,
      cost: 'The findings about settings are not true for the service.',
      mend: OWN_SETTINGS,
    });
  if (status !== 200)
    diagnosis.find('danger', 'not_ready', {
      text: `The service is not ready. It says: ${body.error?.message ?? `status ${status}`}`,
      cost: 'A load balancer sends it no requests, and requests that need Redis get 503.',
      mend:
        body.error?.message?.includes('data accept') === true
          ? BRING_BACK
          : 'The other findings give the reason; else read the log of the service',
    });
  for (const problem of body.degraded ?? [])
    diagnosis.find('warning', 'degraded', {
      text: `No primary serves a part of the Cluster: ${problem}.`,
      cost: 'Accounts, rooms and boards of these slots get 503.',
      mend: 'Bring that primary back, or let a replica take over (docs/scale-out.md#while-a-primary-is-away)',
    });
}

/** Examines whether people other than operators can read /metrics. */
async function examineMetrics(config: Config, diagnosis: Diagnosis): Promise<void> {
  const { METRICS_PORT, METRICS_HOST, PUBLIC_URL } = config;
  if (METRICS_PORT !== undefined) {
    diagnosis.fact('/metrics', `on a port of its own, ${METRICS_HOST}:${METRICS_PORT}`);
    if (distanceOf(METRICS_HOST) !== 'loopback')
      diagnosis.find('note', 'metrics_host', {
        text: `Anybody who reaches ${METRICS_HOST}:${METRICS_PORT} can read the metrics.`,
        cost: 'The metrics tell how many people play and pay, and which requests fail.',
        mend: 'METRICS_HOST=<the address in the network of your Prometheus>, or a firewall that lets only it in',
      });
    return;
  }
  if (!isForOthers(config)) return diagnosis.fact('/metrics', 'on this machine only');
  const finding = (text: string) => ({
    text,
    cost: 'The metrics tell how many people play and pay, and which requests fail.',
    mend: 'METRICS_PORT=9464, which no proxy passes on; or let your proxy refuse /metrics',
  });
  if (!hasPublicUrl(config))
    return diagnosis.find(
      'warning',
      'open_metrics',
      finding(`Anybody who reaches ${config.HOST}:${config.PORT} can read the metrics at /metrics.`),
    );
  const answer = await ask(`${PUBLIC_URL}/metrics`);
  if (answer instanceof Error)
    return diagnosis.find(
      'warning',
      'open_metrics',
      finding(`/metrics has no port of its own. Whether ${PUBLIC_URL}/metrics is open could not be checked from here: ${answer.message}.`),
    );
  if (answer.status === 200 && answer.text.includes('coinop_'))
    return diagnosis.find('warning', 'open_metrics', finding(`Everybody can read the metrics at ${PUBLIC_URL}/metrics: it answered.`));
  diagnosis.fact('/metrics', `${PUBLIC_URL}/metrics answers ${answer.status}: closed to the world`);
}

/** A path of the service that only operators should reach, and the texts for its findings. */
interface OperatorsPath {
  readonly name: string;
  readonly setting: string;
  readonly kind: 'open_admin' | 'open_console';
  /** The path to which the doctor sends a test request without a key. */
  readonly asked: string;
  readonly isOpen: (answer: Answer) => boolean;
  readonly whoCan: string;
  readonly cost: string;
  readonly off: string;
}

const ADMIN_PATHS: OperatorsPath = {
  name: '/v1/admin',
  setting: 'ADMIN_API',
  kind: 'open_admin',
  asked: '/v1/admin/log',
  isOpen: ({ text }) => (jsonOf(text) as { error?: { code?: unknown } } | undefined)?.error?.code === 'server_only',
  whoCan: "can call the operator's paths at /v1/admin with a key",
  cost: 'A leaked server key with the scope admin can mint coins, ban anybody and read every account, from anywhere.',
  off: 'ADMIN_API=off, and npm run admin',
};

const CONSOLE_PAGE: OperatorsPath = {
  name: '/console',
  setting: 'CONSOLE',
  kind: 'open_console',
  asked: '/console',
  isOpen: ({ status, text }) => status === 200 && text.includes('console.js'),
  whoCan: 'can open the console at /console and sign in with a key',
  cost: "With an operator's key that leaks, or that somebody types into a fake page, a thief can sign in from anywhere.",
  off: 'CONSOLE=off, and npm run admin',
};

/** Examines, by a request without a key, whether everybody can reach a path that is meant for operators. */
async function examineOperatorsPath(path: OperatorsPath, config: Config, diagnosis: Diagnosis): Promise<void> {
  const { name, setting, kind, asked, isOpen, whoCan, cost, off } = path;
  const warn = (text: string): void =>
    diagnosis.find('warning', kind, { text, cost, mend: `Let your proxy pass ${name} from your own network only; or ${off}` });
  if (!isForOthers(config)) return diagnosis.fact(name, `on this machine only (${setting}=on)`);
  if (!hasPublicUrl(config)) return warn(`Anybody who reaches ${config.HOST}:${config.PORT} ${whoCan} (${setting}=on).`);
  const url = `${config.PUBLIC_URL}${asked}`;
  const answer = await ask(url);
  if (answer instanceof Error)
    return warn(`${setting} is on. Whether ${url} can be called from everywhere could not be checked from here: ${answer.message}.`);
  if (isOpen(answer)) return warn(`Everybody ${whoCan}: ${url} answered.`);
  diagnosis.fact(name, `${url} answers ${answer.status}: closed to the world`);
}

/** Whether PUBLIC_URL is an address at which other machines reach the service. */
function hasPublicUrl({ PUBLIC_URL }: Config): boolean {
  return PUBLIC_URL !== undefined && distanceOf(new URL(PUBLIC_URL).hostname) !== 'loopback';
}

function ownAddress({ HOST, PORT }: Config): string | undefined {
  return PORT === 0 ? undefined : urlOnThisMachine(HOST, PORT);
}

/** The address of the metrics, if they have a port of their own. */
function metricsAddress({ METRICS_HOST, METRICS_PORT }: Config): string | undefined {
  return METRICS_PORT === undefined || METRICS_PORT === 0 ? undefined : urlOnThisMachine(METRICS_HOST, METRICS_PORT);
}

async function ask(url: string): Promise<Answer | Error> {
  try {
    const answer = await fetch(url, {
      signal: AbortSignal.timeout(ANSWER_MS),
      redirect: 'manual',
      headers: { accept: 'application/json, text/plain' },
    });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error };
    return new Error((cause?.message ?? '') || message);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
