import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Figures } from '../cluster/figures.ts';
import { freePort } from '../free-port.ts';
import { startTcpRedis } from '../realtime/child.ts';
import { proveFraming } from './framing.ts';
import { proveMonitoring } from './monitoring.ts';
import { proxyNames, startProxy, type Proxy } from './proxy.ts';
import { Instance, proveRolling } from './rolling.ts';
import { proveThroughProxy } from './through-proxy.ts';

/**
 * Proves the promises of docs/operations: `npm run prove:operations`. Prometheus scrapes a real service, and every query of the
 * dashboard and of the alerts is tried. nginx and Caddy run with the sample files in front of two services on one Redis: live
 * channels, long-polls, client addresses, the framing table, and a rolling restart under load. Prints its figures, and exits with 1
 * if a bound is not held. `--only monitoring,nginx,caddy` and `--parts framing,live,rolling` make it shorter.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: `monitoring,${proxyNames.join(',')}` },
    parts: { type: 'string', default: 'framing,live,rolling' },
  },
});
const [names, parts] = [values.only.split(','), new Set(values.parts.split(','))];
const unknown = names.filter((name) => name !== 'monitoring' && !proxyNames.includes(name as Proxy['name']));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}: --only takes monitoring, ${proxyNames.join(', ')}.`);
  process.exit(1);
}

/** Both services take the same sessions. With ADMIN_API only the proxy keeps operators' paths from clients. */
const SETTINGS = { ADMIN_API: 'on', TRUSTED_PROXIES: '127.0.0.1', SESSION_KEYS: `prove:${Buffer.alloc(32, 7).toString('base64url')}` };

const closing: (() => Promise<unknown>)[] = [];

async function proveProxy(name: Proxy['name'], folder: string, figures: Figures): Promise<void> {
  const redis = await startTcpRedis(folder);
  closing.push(redis.stop);
  const ports = [await freePort(), await freePort()] as const;
  const instances = ports.map((port) => new Instance(port, { ...SETTINGS, REDIS_URL: redis.url, DATA_DIR: join(folder, port) }));
  for (const instance of instances) {
    await instance.start();
    closing.push(() => instance.stop());
  }
  const proxy = await startProxy(name, join(folder, name), ports);
  closing.push(() => proxy.stop());
  try {
    if (parts.has('framing')) await proveFraming(proxy, instances[0]!.url, figures);
    if (parts.has('live')) await proveThroughProxy(proxy, figures);
    if (parts.has('rolling')) await proveRolling(proxy, instances, figures);
  } catch (error) {
    console.log(proxy.output().split('\n').slice(-10).join('\n').replace(/^/gm, '    '));
    throw error;
  }
}

let isHeld = true;
for (const name of names) {
  console.log(`\n${name}`);
  const folder = mkdtempSync(join(tmpdir(), `coinop-operations-`));
  const figures = new Figures();
  try {
    if (name === 'monitoring') await proveMonitoring(folder, figures);
    else await proveProxy(name as Proxy['name'], folder, figures);
  } catch (error) {
    console.error(error);
    isHeld = false;
  } finally {
    for (const close of closing.splice(0).toReversed()) await close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
  isHeld &&= figures.areHeld;
}
console.log(isHeld ? '\nAll bounds are held.' : '\nNot all bounds are held: see the lines that begin with !, and the errors.');
process.exit(isHeld ? 0 : 1);
