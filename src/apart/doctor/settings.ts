import type { Config } from '../../config.ts';
import { whoMintsCoins } from '../../features/coins/model.ts';
import { clusterSeedsOf, isClusterUrl } from '../../redis/cluster-url.ts';
import { checkStores } from '../../stores/stores.ts';
import type { Diagnosis } from './diagnosis.ts';
import { distanceOf } from './network.ts';

/** Whether the settings show that other machines are meant to reach the service. */
export function isForOthers({ HOST, PUBLIC_URL }: Config): boolean {
  const isPublicUrl = PUBLIC_URL !== undefined && distanceOf(new URL(PUBLIC_URL).hostname) !== 'loopback';
  return isPublicUrl || distanceOf(HOST) !== 'loopback';
}

/** Examines the settings. @param problems the problems of bad settings, a line each */
export function examineSettings(config: Config, problems: readonly string[], diagnosis: Diagnosis): void {
  diagnosis.fact('settings', config.production ? 'production' : `${config.NODE_ENV}: the settings of this command's own environment`);
  for (const text of problems)
    diagnosis.find('danger', 'bad_setting', {
      text: text.endsWith('.') ? text : `${text}.`,
      cost: 'The service does not start.',
      mend: `Correct ${/^[A-Z][A-Z_]+/.exec(text)?.[0] ?? 'the setting'} in the environment of the service.`,
    });
  if (!config.production && isForOthers(config))
    diagnosis.find('warning', 'development', {
      text: `Other machines can reach the service, and it runs with NODE_ENV=${config.NODE_ENV}.`,
      cost: 'Cookies travel over plain http, the sandbox store sells for nothing, and the playground is open.',
      mend: 'NODE_ENV=production, with SESSION_KEYS and PUBLIC_URL',
    });
  examineCoins(config, diagnosis);
  examineStore(config, problems, diagnosis);
  examineDoors(config, diagnosis);
  examineTransport(config, diagnosis);
}

function examineCoins(config: Config, diagnosis: Diagnosis): void {
  const { COIN_AUTHORITY, CREDIT_DAILY_CAP, REQUIRE_INSTALL_PROOF, LEDGER_RETENTION_DAYS } = config;
  const isCapped = CREDIT_DAILY_CAP > 0;
  const isProven = REQUIRE_INSTALL_PROOF.includes('credit');
  const bounds = [isCapped ? `${CREDIT_DAILY_CAP} a day` : 'without a cap', isProven ? 'from proven installs' : 'from any client'];
  diagnosis.fact('who can mint coins', whoMintsCoins(config));
  if (COIN_AUTHORITY === 'client')
    diagnosis.find(config.production && !isCapped && !isProven ? 'warning' : 'note', 'client_mints', {
      text: `Every client can credit coins to itself, ${bounds.join(', ')} (COIN_AUTHORITY=client).`,
      cost: "Coins that anybody can make are worth nothing: a person who reads the app's requests can send similar ones.",
      mend: 'COIN_AUTHORITY=server, and grants by your own server with a key; or CREDIT_DAILY_CAP and REQUIRE_INSTALL_PROOF=credit',
    });
  if (LEDGER_RETENTION_DAYS > 0)
    diagnosis.find('note', 'retention', {
      text: `Ledger entries and their idempotency keys are deleted after ${LEDGER_RETENTION_DAYS} days.`,
      cost: 'If a client sends a coin operation again after that time, the operation takes effect a second time.',
      mend: 'LEDGER_RETENTION_DAYS=0 keeps them forever; see the memory left',
    });
}

function examineStore(config: Config, problems: readonly string[], diagnosis: Diagnosis): void {
  const { STORE, CATALOGUE_FILE, production } = config;
  diagnosis.fact('store', STORE);
  diagnosis.fact('catalogue', CATALOGUE_FILE ?? 'the sample');
  if (STORE === 'sandbox')
    diagnosis.find(production ? 'danger' : isForOthers(config) ? 'warning' : 'note', 'sandbox', {
      text: 'The app store is the sandbox (STORE=sandbox).',
      cost: 'Every client can sign in as any user and buy for nothing.',
      mend: 'STORE=google with its settings (docs/stores.md), or STORE=off',
    });
  // Missing settings are listed only if no setting of a store is invalid, because `problems` has the invalid settings already.
  const missing = problems.some((text) => /^(?:GOOGLE|PLAY|APPLE)_/.test(text)) ? [] : checkStores(config).missing;
  if (missing.length > 0)
    diagnosis.find('warning', 'store_unconfigured', {
      text: `The store lacks settings: ${missing.join(', ')}.`,
      cost: 'These requests answer 503 store_unconfigured.',
      mend: 'Set the settings in docs/stores.md, or STORE=off if you need no store',
    });
  examineTests(config, diagnosis);
  if (CATALOGUE_FILE === undefined)
    diagnosis.find(production ? 'warning' : 'note', 'sample_catalogue', {
      text: 'The catalogue is the sample that ships with coinop.',
      cost: 'Clients show apps that are not yours, and any game name opens a board.',
      mend: 'CATALOGUE_FILE=/path/to/catalogue.json',
    });
}

/**
 * Examines what users get for purchases that nobody paid for. This matters only in production, because elsewhere such purchases are the way
 * to try a shop.
 */
function examineTests({ TEST_PURCHASES, TEST_COINS_PER_DAY, STORE, production }: Config, diagnosis: Diagnosis): void {
  if (!production || STORE === 'off') return;
  diagnosis.fact('test purchases', TEST_PURCHASES === 'capped' ? `capped: ${TEST_COINS_PER_DAY} coins an account and day` : TEST_PURCHASES);
  if (TEST_PURCHASES === 'on')
    diagnosis.find('warning', 'test_purchases', {
      text: 'Purchases that nobody paid for give coins and access without a limit (TEST_PURCHASES=on).',
      cost: 'Every licence tester, and everybody who has the app from TestFlight, gets coins for nothing.',
      mend: 'TEST_PURCHASES=capped, or off',
    });
  if (TEST_PURCHASES === 'off' && STORE.split(',').includes('apple'))
    diagnosis.find('note', 'no_app_review', {
      text: 'Purchases of the sandbox are refused (TEST_PURCHASES=off).',
      cost: 'App Review buys the app that is for sale in the sandbox. It sees that purchases fail, and may reject the app.',
      mend: 'TEST_PURCHASES=capped',
    });
}

/** Examines the settings of limits, proxies, the playground and webhooks. */
function examineDoors(config: Config, diagnosis: Diagnosis): void {
  const { RATE_LIMIT, TRUSTED_PROXIES, PUBLIC_URL, SESSION_VERIFY, PLAYGROUND, WEBHOOKS_PRIVATE, production } = config;
  if (RATE_LIMIT === 'off')
    diagnosis.find(production || isForOthers(config) ? 'danger' : 'note', 'no_limits', {
      text: 'Client addresses have no limits (RATE_LIMIT=off).',
      cost: 'One client can guess room codes and tokens without end, fill Redis with accounts, and take all of the CPU.',
      mend: 'RATE_LIMIT=on',
    });
  if (TRUSTED_PROXIES.some((range) => /\/0$/.test(range)))
    diagnosis.find('danger', 'everyone_is_trusted', {
      text: `TRUSTED_PROXIES trusts every address (${TRUSTED_PROXIES.join(', ')}).`,
      cost: 'A client can give itself any address with X-Forwarded-For. So no limit holds, and the log blames others.',
      mend: 'TRUSTED_PROXIES=<the addresses of your own proxies>',
    });
  if (PUBLIC_URL?.startsWith('https:') === true && TRUSTED_PROXIES.length === 0)
    diagnosis.find('warning', 'no_trusted_proxy', {
      text: 'PUBLIC_URL is https, so there is a proxy in front, but TRUSTED_PROXIES is empty.',
      cost: "All clients share the limits of one address, the proxy's: a busy minute refuses everybody (429).",
      mend: 'TRUSTED_PROXIES=<the addresses of your proxies>',
    });
  if (SESSION_VERIFY === 'on')
    diagnosis.find('note', 'open_verify', {
      text: 'Anybody who reaches /v1/sessions/verify may ask to which account a session token belongs (SESSION_VERIFY=on).',
      cost: 'The risk is small: the answer tells nothing that the holder of the token could not read anyway.',
      mend: 'Let the proxy pass the path from your own network only',
    });
  if (production && PLAYGROUND === 'on')
    diagnosis.find('warning', 'playground', {
      text: 'The playground is open in production (PLAYGROUND=on).',
      cost: 'Visitors make guests, scores and rooms on the real data.',
      mend: 'PLAYGROUND=off',
    });
  if (production && WEBHOOKS_PRIVATE === 'on')
    diagnosis.find('warning', 'private_webhooks', {
      text: 'Webhooks may go to private addresses and over http: in production (WEBHOOKS_PRIVATE=on).',
      cost: 'A person who may add webhooks can make coinop send requests to any machine that it reaches in your network.',
      mend: 'WEBHOOKS_PRIVATE=off, unless a receiver is in your own network',
    });
}

function examineTransport({ ALLOWED_ORIGINS, PUBLIC_URL, REDIS_URL }: Config, diagnosis: Diagnosis): void {
  const isPlain = (url: string): boolean => url.startsWith('http:') && distanceOf(new URL(url).hostname) !== 'loopback';
  const plain = ALLOWED_ORIGINS.filter(isPlain);
  if (plain.length > 0)
    diagnosis.find('warning', 'http_origin', {
      text: `ALLOWED_ORIGINS has pages over plain http: ${plain.join(', ')}.`,
      cost: 'An attacker on the network path can change the scripts of such a page, and act as its user.',
      mend: `ALLOWED_ORIGINS with https: ${plain.map((origin) => origin.replace('http:', 'https:')).join(',')}`,
    });
  if (PUBLIC_URL !== undefined && isPlain(PUBLIC_URL))
    diagnosis.find('warning', 'http_public_url', {
      text: `PUBLIC_URL is plain http: ${PUBLIC_URL}.`,
      cost: 'Anybody on the way can read sessions and installIds. In production browsers keep no cookie over http: nobody stays signed in.',
      mend: `A proxy with TLS, and PUBLIC_URL=${PUBLIC_URL.replace('http:', 'https:')}`,
    });
  if (REDIS_URL !== undefined) examineRedisUrl(REDIS_URL, diagnosis);
}

const OF_DISTANCE = { public: 'danger', private: 'warning', name: 'warning' } as const;

function examineRedisUrl(url: string, diagnosis: Diagnosis): void {
  const isCluster = isClusterUrl(url);
  const hosts = isCluster ? clusterSeedsOf(url).seeds.map(({ host }) => host) : [new URL(url).hostname];
  const hasPassword = isCluster ? clusterSeedsOf(url).options.password !== undefined : new URL(url).password !== '';
  const distances = hosts.map(distanceOf);
  const farthest = (['public', 'private', 'name'] as const).find((distance) => distances.includes(distance));
  if (farthest === undefined) return;
  // A host name without a dot belongs to a container network on this machine, as in compose.yaml, or to a cluster of containers.
  const level = hosts.every((host) => !host.includes('.') && !host.includes(':')) ? 'note' : OF_DISTANCE[farthest];
  if (!/^rediss/.test(url))
    diagnosis.find(level, 'no_tls', {
      text: `The connection to Redis on another machine has no TLS: ${hosts.join(', ')}.`,
      cost: 'An attacker on the network path can read accounts and the password, and change answers.',
      mend: `REDIS_URL=rediss${isCluster ? '-cluster' : ''}://…, with TLS at Redis (tls-port)`,
    });
  if (!hasPassword)
    diagnosis.find(level, 'no_password', {
      text: `REDIS_URL has no password for Redis on ${hosts.join(', ')}.`,
      cost: 'Anybody who reaches Redis can change every balance.',
      mend: 'A user for coinop in Redis (ACL SETUSER), and REDIS_URL=rediss://user:password@host:port',
    });
}
