import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, SettingError } from '../config.ts';
import { Failure, runCommand, wholeNumber, type FlagsOf } from '../process/command.ts';
import { holdDataDir, makeFolder } from '../process/data-dir.ts';
import { LocalCluster } from '../process/local-cluster.ts';

/** The command `npm run cluster`. HELP describes it. */

const HELP = `Starts a Redis Cluster on this machine, for trying coinop on one: 3 primaries on 127.0.0.1.

  npm run cluster -- [flags]        node src/commands/cluster.ts [flags]

Its data is in DATA_DIR/cluster (default ./data/cluster) and is found again by the next start. Ctrl-C stops all nodes.

  --replicas NUMBER      replicas of each primary, 0 to 3. Default: as many as the data has, at first 0
  --port NUMBER          first port. The nodes take the ports from there on, and those 10000 above for each other.
                         Default: 7001
  --appendfsync MODE     always: a node answers a write once it is on disk. Default: everysec
  --help                 print this text
`;

const PRIMARIES = 3;
const MOST_REPLICAS = 3;
const FIRST_PORT = 7001;
/** The distance from a node's port for clients to its port for other nodes. It is Redis's default. */
const BUS_OFFSET = 10_000;
const LAST_PORT = 65_535 - BUS_OFFSET - PRIMARIES * (1 + MOST_REPLICAS) + 1;

interface Wanted {
  readonly port: number;
  readonly replicas: number | undefined;
  readonly appendfsync: 'always' | 'everysec';
}

const FLAGS = {
  port: { type: 'string' },
  replicas: { type: 'string' },
  appendfsync: { type: 'string', default: 'everysec' },
} as const;

/** @throws Failure for a flag with a wrong value */
function wantedBy({ port, replicas, appendfsync }: FlagsOf<typeof FLAGS>): Wanted {
  if (appendfsync !== 'always' && appendfsync !== 'everysec') throw new Failure('The flag --appendfsync takes always or everysec.');
  return {
    port: wholeNumber('--port', port, 1024, LAST_PORT) ?? FIRST_PORT,
    replicas: wholeNumber('--replicas', replicas, 0, MOST_REPLICAS),
    appendfsync,
  };
}

/**
 * The number of replicas of each primary. It is the number in the flag, but at least the number in the data. All nodes with data have to be
 * started, because a former replica may have taken over slots.
 * @throws SettingError if the data has more replicas than the flag says
 */
function replicasIn(folder: string, { port, replicas }: Wanted): number {
  const hasData = (index: number): boolean => existsSync(join(folder, String(port + index), 'nodes.conf'));
  const nodes = Array.from({ length: PRIMARIES * (1 + MOST_REPLICAS) }, (_, index) => (hasData(index) ? index + 1 : 0));
  const stored = Math.max(0, Math.ceil(Math.max(...nodes) / PRIMARIES) - 1);
  if (replicas !== undefined && replicas < stored)
    throw new SettingError(
      `The cluster in ${folder} has ${stored} replica${stored > 1 ? 's' : ''} of each primary. Leave --replicas out, or remove the folder.`,
    );
  return replicas ?? stored;
}

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const wanted = wantedBy(flags);
  const { DATA_DIR } = process.env;
  const config = readConfig({ DATA_DIR });
  const path = join(config.DATA_DIR, 'cluster');
  try {
    makeFolder(path);
  } catch (error) {
    throw new SettingError(`DATA_DIR ${config.DATA_DIR} cannot be used: ${(error as Error).message}`);
  }
  const { folder, isHeld } = await holdDataDir({ ...config, DATA_DIR: path });
  if (!isHeld) throw new SettingError(`DATA_DIR ${config.DATA_DIR} is in use: another cluster keeps its data there.`);

  const replicas = replicasIn(folder, wanted);
  const ports = Array.from({ length: PRIMARIES * (1 + replicas) }, (_, index) => wanted.port + index);
  const places = ports.map((port) => ({ port, busPort: port + BUS_OFFSET }));
  const cluster = new LocalCluster(PRIMARIES, places, {
    folder,
    appendfsync: wanted.appendfsync,
    complained: ({ port }, text) => console.error(`coinop cluster: the Redis of port ${port} says: ${text}`),
    ended: ({ port }, code, signal) =>
      console.error(`coinop cluster: the Redis of port ${port} ended (${signal ?? code}). The next npm run cluster starts it again.`),
  });
  // If a signal stops the cluster during its start, `start` fails.
  const stopping = onStop(() => cluster.stop());
  try {
    await cluster.start();
  } catch (error) {
    if (!stopping.aborted) throw error;
    return 0;
  }
  for (const { port, pid } of cluster.nodes) console.log(`port ${port}: process ${pid}`);
  const hosts = ports.slice(0, PRIMARIES).map((port) => `127.0.0.1:${port}`);
  // A service stores the id of its data in DATA_DIR. So a service on this cluster needs a DATA_DIR for this cluster only: the folder with
  // the nodes' folders.
  console.log(`DATA_DIR=${path} REDIS_URL=redis-cluster://${hosts.join(',')} npm start`);
  return 0;
}

/**
 * Runs `stop` at the first signal, and ends the process with 0. Further signals are ignored, because the nodes have to write their data.
 * @returns an AbortSignal that is aborted at the first signal
 */
function onStop(stop: () => Promise<void>): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => {
      if (controller.signal.aborted) return;
      controller.abort();
      void stop().then(() => process.exit(0));
    });
  return controller.signal;
}

await runCommand({ name: 'cluster', help: HELP, flags: FLAGS, run, failed: 1 });
// If a node failed to start, the nodes that already run would keep the process alive.
if (process.exitCode === 1) process.exit();
