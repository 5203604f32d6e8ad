import { existsSync, mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { COMPILE_CACHE, DATABASES, dropUserSettings, KEEPS_STRIPPED_TYPES } from './test/environment.ts';
import { PATIENCE_MS } from './test/patience.ts';
import { stateOfUserData } from './test/user-data.ts';

// Test files note provoked errors in this folder. It is made once for the run, because all projects share it.
const notesDir = mkdtempSync(join(tmpdir(), 'coinop-notes-'));
// Test processes inherit the environment of this one.
dropUserSettings();
// For test/closing/user-data.test.ts.
const userDataBefore = stateOfUserData();

/** The file of the other tests that `npm test` also runs on a Redis Cluster. */
const MANY_ON_CLUSTER = 'test/on-cluster.test.ts';

/** What `npm test` runs on a Redis Cluster. */
const ON_CLUSTER = [
  MANY_ON_CLUSTER,
  // Keys of one account, and marks and outboxes of each slot: an event of each type goes from there to the log. Services without events
  // must not share its queues.
  'test/features/events/types.test.ts',
];

/**
 * Files that `npm run test:cluster` leaves out, although they are in its folders: they start their own Redis or need none, so on a Cluster they
 * would only repeat other runs. The end of that run names files that belong here.
 */
const APART = [
  'test/features/account-watch/tracking.test.ts',
  'test/accounts/{caller-scripts,holdings,standing}.test.ts',
  'test/features/deletion/{delete-crash,delete-purchases,deletion-auditor}.test.ts',
  'test/features/coins/{authority-property,coin-totals,debt-property,debt,key-hash,key-secret,secret-of-cluster}.test.ts',
  'test/features/entitlement/{explain,model}.test.ts',
  'test/features/events/{examples,log}.test.ts',
  'test/features/health/ready.test.ts',
  'test/features/highscores/{banned,board-cache,board-upgrade,random-board,seasons}.test.ts',
  'test/features/names/name-words.test.ts',
  'test/features/numbers/{kills,numbers}.test.ts',
  'test/features/purchases/coins/{chaos,claim-purchase,crash,kept-notices}.test.ts',
  'test/features/purchases/test-purchases.test.ts',
  'test/features/rooms/{feed,presence,resharding,seat-grace}.test.ts',
  'test/features/rooms/match/dying.test.ts',
  'test/features/sessions/verify.test.ts',
  'test/features/sign-in/{account-takeover,merge-crash}.test.ts',
  'test/features/guest-moves/{move-crash,move-interleaved,move-purchases}.test.ts',
  'test/features/purchases/subscription/{purchase-check,saga,without-end}.test.ts',
  'test/features/webhooks/{allowed-addresses,endpoint-health,example,request-places,sender,shared-log-reader,waiting-events,webhook-auditor}.test.ts',
  'test/operator/{damaged,find-account,list-accounts,log,move-purchase,purchases,take-back-grant,todo}.test.ts',
  'test/realtime/{bearer,cluster,databases,drain,long-poll,missed,pairing,processes,rooms,session-end}.test.ts',
  'test/apart/sandbox/subscription-lifecycle.test.ts',
];

const isWholeCluster = process.env['TEST_CLUSTER'] === 'all';

/**
 * Whether test processes import the source files as the service does, by Node itself, instead of vite's transforms: that halves the CPU time
 * to load the service, and it runs the code that users run. vite has to see each module to find the tests of a changed file, to count
 * coverage, and to mock modules.
 */
const isNative =
  process.env['TEST_LONG'] !== 'on' && process.argv.includes('run') && !process.argv.some((word) => word.startsWith('--coverage'));

/**
 * Slow files: they start, kill, audit, upgrade, back up, restore or watch whole services and clusters, let a process die at each step of
 * its work, or run the bench. Only `npm run test:long` runs them.
 */
const LONG = [
  'test/commands/cluster.test.ts',
  'test/consistency/{cluster,command,live}.test.ts',
  'test/operator/terminal/{accounts,cluster,coins,incidents,server-keys}.test.ts',
  'test/apart/backup/{backup,known-deletions,page,restore,room}.test.ts',
  'test/apart/doctor/{cluster,doctor,fastest}.test.ts',
  'test/scripts/release.test.ts',
  'test/features/deletion/delete-crash.test.ts',
  'test/features/numbers/kills.test.ts',
  'test/features/coins/secret-of-cluster.test.ts',
  'test/features/purchases/coins/{chaos,crash}.test.ts',
  'test/features/rooms/resharding.test.ts',
  'test/features/guest-moves/move-crash.test.ts',
  'test/features/sign-in/merge-crash.test.ts',
  'test/operator/crash.test.ts',
  'test/redis/cluster-{away,failover,subscriber}.test.ts',
  'test/redis/resharding.test.ts',
  'test/redis/lost-data-{cluster,command}.test.ts',
  // It mocks the table of stores.
  'test/stores/second-store.test.ts',
  'test/{starts-and-stops,upgrades}.test.ts',
  'test/process/{revoked-keys,worker-pool}.test.ts',
  'test/server/identity/key-ring-cluster.test.ts',
  'test/realtime/cluster.test.ts',
  'test/dev.test.ts',
  'test/bench/{run,cluster}.test.ts',
  'test/bench/compare/compare.test.ts',
];

/** Files of which `npm test` runs a part, or a search at a small size, and `npm run test:long` the whole (test/sized.ts). */
const SIZED = [
  'test/browser/{game,pairing,rooms}.test.ts',
  'test/consistency/{background,damages,wrong-types}.test.ts',
  'test/operator/damaged.test.ts',
  'test/scripts/setup.test.ts',
  'test/features/coins/{authority-property,debt-property,ledger}.test.ts',
  'test/features/highscores/random-board.test.ts',
  'test/features/rooms/feed.test.ts',
  'test/features/events/examples.test.ts',
  'test/clients/javascript/{game-server,room-faults}.test.ts',
  'test/features/guest-moves/move-interleaved.test.ts',
  'test/features/purchases/subscription/saga.test.ts',
  'test/server/worst-body.test.ts',
  'test/bench/compare/judge.test.ts',
  'test/features/export/export.test.ts',
];

// Without this check a renamed file would silently run in another project.
for (const pattern of [...ON_CLUSTER, ...APART, ...LONG, ...SIZED]) {
  const [, before, names = '', after] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [undefined, pattern];
  const paths = after === undefined ? [pattern] : names.split(',').map((name) => `${before}${name}${after}`);
  for (const path of paths)
    if (!path.includes('*') && !existsSync(path)) throw new Error(`vitest.config.ts names ${path}, which does not exist.`);
}

export default defineConfig({
  test: {
    pool: 'forks',
    // Files mostly wait for Redis, sockets and processes. On two cores vitest's default would be one file at a time.
    // More than the databases of their Redis would share one.
    maxWorkers: Math.min(DATABASES, Math.max(6, availableParallelism())),
    // A process runs many files but loads the modules of the service once, which saves 30 % of the CPU time of `npm test`. So each file
    // must restore its spies, stubs and fake timers and, outside of `long`, mock no module, and shared modules of `test/` must not register hooks.
    isolate: false,
    ...(isNative && {
      server: { deps: { external: [/\/src\/.*\.ts$/] } },
      execArgv: [KEEPS_STRIPPED_TYPES],
      env: { NODE_COMPILE_CACHE: COMPILE_CACHE },
    }),
    // For tests that hang. Each other test ends within it on a machine that is twenty times slower.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // On a loaded machine a condition may take longer than vitest's default of one second.
    expect: { poll: { timeout: PATIENCE_MS } },
    provide: { notesDir, userDataBefore },
    // Lua scripts are not imported, so `npm run test:watch` cannot know which tests use them.
    forceRerunTriggers: [...configDefaults.forceRerunTriggers, '**/src/**/*.lua'],
    coverage: {
      // V8 counts only inside the test processes. main.ts and process/ mostly run in child processes, so their figures (main.ts: 0 %) say
      // nothing about their tests. Lua scripts run in Redis.
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'html'],
      reportsDirectory: 'coverage',
      // The run takes minutes: write the report even when a test fails.
      reportOnFailure: true,
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'coinop',
          include: ['test/**/*.test.ts'],
          exclude: ['test/closing/**', MANY_ON_CLUSTER, ...LONG],
          globalSetup: ['test/redis.setup.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      // The same files on a Redis Cluster: a part of them in `npm test`, all of them in `npm run test:cluster`.
      {
        extends: true,
        test: {
          name: 'cluster',
          include: isWholeCluster
            ? [
                'test/{accounts,features,realtime}/**/*.test.ts',
                'test/operator/{*,page/*,sign-in/*}.test.ts',
                'test/apart/sandbox/*.test.ts',
                'test/interface.test.ts',
                'test/server/identity/server-keys.test.ts',
              ]
            : ON_CLUSTER,
          exclude: APART,
          globalSetup: ['test/redis.setup.ts', 'test/cluster.setup.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      ...(process.env['TEST_LONG'] === 'on'
        ? [
            {
              extends: true as const,
              test: {
                name: 'long',
                include: [...LONG, ...SIZED],
                provide: { isFullSize: true },
                isolate: true,
                testTimeout: 600_000,
                hookTimeout: 600_000,
                globalSetup: ['test/redis.setup.ts'],
                sequence: { groupOrder: 1 },
              },
            },
          ]
        : []),
      // Checks which errors the other projects provoked, so it runs last.
      { extends: true, test: { name: 'closing', include: ['test/closing/**/*.test.ts'], maxWorkers: 1, sequence: { groupOrder: 2 } } },
    ],
  },
});
