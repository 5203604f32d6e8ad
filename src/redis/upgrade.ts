import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { checkDataAtStart, DATA_VERSION, DATA_VERSION_KEY, parseDataVersion, readDataVersion } from './data/data-version.ts';
import { defineScript } from './script.ts';
import { ScriptRunner } from './script-runner.ts';

/** Changes data of the version `from` into the next version. */
export interface Upgrade {
  readonly from: number;
  /**
   * Changes the data. The upgrade may be interrupted and run again, and several processes may run it at the same time. A suspended process
   * may even continue its upgrade after another process has finished. So each change is made by one script that changes only data in the
   * old layout.
   * @param keysLike gives the keys in Redis that match a glob. Each key comes at least once
   */
  readonly run: (redis: Redis, keysLike: (glob: string) => AsyncIterable<readonly string[]>) => Promise<void>;
}

/** Sets the version of the data, if the version has not changed since it was read. `seen` is '' if there was none. */
const setVersion = defineScript({
  name: 'redis/set-version',
  lua: `if (redis.call('GET', version) or '') ~= seen then return {'changed'} end
    redis.call('SET', version, to)
    return {'set'}`,
  keys: ['version'],
  args: ['seen', 'to'],
  answers: ['set', 'changed'],
});

/**
 * The Redis key of the lease of the process that upgrades. The lease expires if the process dies. It only saves work, because the upgrade
 * may safely run twice.
 */
const LEASE_KEY = 'data:upgrading';

/** How long the lease lasts without a renewal, in milliseconds. */
const LEASE_MS = 10_000;

/** Milliseconds between two checks with which the other processes find out whether the upgrade is done. */
const LEASE_POLL_MS = 50;

/** Milliseconds between two log lines about the progress of an upgrade. */
const REPORT_MS = 5000;

/**
 * Upgrades the data to the version of this coinop, one version after the other. Data without a version is new, and gets the version of this
 * coinop. An interrupted upgrade goes on where it stopped.
 * @param upgrades one for each older version that this process may upgrade
 * @throws SettingError for data that this coinop can neither serve nor upgrade
 */
export async function upgradeData(redis: Redis, upgrades: readonly Upgrade[], log: Logger): Promise<void> {
  while ((await redis.set(LEASE_KEY, process.pid, 'PX', LEASE_MS, 'NX')) === null) {
    await pause(LEASE_POLL_MS);
    if ((await readDataVersion(redis)) === String(DATA_VERSION)) return;
  }
  const scripts = new ScriptRunner(redis, { now: Date.now });
  // If another process has already changed the version, the script sets nothing. In both cases the next read of the version shows how to go
  // on.
  const set = (seen: string | null, to: string) => scripts.run(setVersion, { version: DATA_VERSION_KEY }, { seen: seen ?? '', to });
  try {
    for (;;) {
      // A newer coinop may have upgraded the data further while this process was suspended.
      await checkDataAtStart(redis);
      const found = await readDataVersion(redis);
      const { version, isUpgrading } = parseDataVersion(found ?? '') ?? { version: undefined, isUpgrading: false };
      if (version === DATA_VERSION) return;
      const upgrade = upgrades.find(({ from }) => from === version);
      if (version === undefined) await set(null, String(DATA_VERSION));
      else if (upgrade === undefined) throw new Error(`the data has version ${version}: start the service, which upgrades it`);
      else if (!isUpgrading) await set(found, `${version}>${version + 1}`);
      else {
        await upgrade.run(redis, (glob) => scan(redis, glob, log));
        await set(found, String(version + 1));
        log.info({ from: version, to: version + 1 }, 'upgraded the data');
      }
    }
  } finally {
    await redis.del(LEASE_KEY).catch(() => {});
  }
}

async function* scan(redis: Redis, glob: string, log: Logger): AsyncGenerator<readonly string[]> {
  let [scanned, reportAt] = [0, performance.now() + REPORT_MS];
  for await (const names of redis.scanStream({ match: glob, count: 1000 }) as AsyncIterable<string[]>) {
    await redis.pexpire(LEASE_KEY, LEASE_MS);
    yield names;
    scanned += names.length;
    if (performance.now() < reportAt) continue;
    reportAt = performance.now() + REPORT_MS;
    log.info({ keys: scanned }, 'upgrading the data; coin operations wait');
  }
}
