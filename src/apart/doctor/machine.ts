import { existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { availableMemory, sizeText } from '../../process/memory.ts';
import type { Diagnosis } from './diagnosis.ts';
import type { NodeFacts } from './redis-node.ts';
import { quoted } from './shell.ts';

/**
 * The recommended free room on the disk, as a multiple of the data. When Redis rewrites its append-only file, the new file is on the disk
 * beside the old one.
 */
const ROOM_FOR_COPIES = 2;

const LEAST_ROOM_BYTES = 1e9;
const DANGER_ROOM_BYTES = 1e8;

const OTHERS_WRITE = 0o022;
const OTHERS_OPEN = 0o077;

/** Examines DATA_DIR: its permissions, and the free room on its disk. */
export function examineDataDir({ DATA_DIR, REDIS_URL, SESSION_KEYS }: Config, diagnosis: Diagnosis): void {
  if (!existsSync(DATA_DIR) || (REDIS_URL !== undefined && SESSION_KEYS !== undefined)) return;
  const modeOf = (name: string): number => (existsSync(join(DATA_DIR, name)) ? statSync(join(DATA_DIR, name)).mode & 0o777 : 0);
  const { uid } = statSync(DATA_DIR);
  const own = process.getuid?.() ?? uid;
  if (own !== 0 && uid !== own)
    diagnosis.find('note', 'other_owner', {
      text: `DATA_DIR ${DATA_DIR} belongs to another user (${uid}) than this command's (${own}).`,
      cost: 'A service of this user could not write there.',
      mend: `sudo chown -R ${own} ${quoted(DATA_DIR)} # if the service runs as this user`,
    });
  if ((modeOf('') & OTHERS_WRITE) !== 0)
    diagnosis.find('danger', 'open_data_dir', {
      text: `Other users of this machine may write to DATA_DIR ${DATA_DIR} (mode ${octal(modeOf(''))}).`,
      cost: 'These users can replace the data and the keys that sign sessions.',
      mend: `chmod 700 ${quoted(DATA_DIR)}`,
    });
  if (SESSION_KEYS === undefined && (modeOf('session-keys') & OTHERS_OPEN) !== 0)
    diagnosis.find('danger', 'open_session_keys', {
      text: `Other users of this machine may open ${join(DATA_DIR, 'session-keys')} (mode ${octal(modeOf('session-keys'))}).`,
      cost: 'Anybody who reads it can sign in as any user.',
      mend: `chmod 600 ${quoted(join(DATA_DIR, 'session-keys'))} # and a new key if somebody may have read it`,
    });
  if (REDIS_URL !== undefined) return;
  if ((modeOf('redis') & OTHERS_OPEN) !== 0)
    diagnosis.find('warning', 'open_redis_data', {
      text: `Other users of this machine may open ${join(DATA_DIR, 'redis')} (mode ${octal(modeOf('redis'))}).`,
      cost: 'These users can read all accounts and the secret of the ledgers.',
      mend: `chmod 700 ${quoted(join(DATA_DIR, 'redis'))}`,
    });
  examineRoom(DATA_DIR, diagnosis);
  const old = readdirSync(DATA_DIR).filter((name) => /^(?:redis|session-keys)\.before-/.test(name));
  if (old.length > 0)
    diagnosis.find('note', 'old_data', {
      text: `DATA_DIR holds data that a restore replaced: ${old.join(', ')}.`,
      cost: 'The old data takes room on the disk. It still has accounts that may have been deleted since, and keys that sign sessions.',
      mend: `rm -r ${old.map((name) => quoted(join(DATA_DIR, name))).join(' ')} # when you are sure`,
    });
}

function examineRoom(folder: string, diagnosis: Diagnosis): void {
  const { bavail, bsize } = statfsSync(folder);
  const [free, data] = [bavail * bsize, sizeOf(join(folder, 'redis'))];
  const needed = Math.max(LEAST_ROOM_BYTES, data * ROOM_FOR_COPIES);
  diagnosis.fact('disk', `${sizeText(free)} free, ${sizeText(data)} of data in ${folder}`);
  if (free >= needed) return;
  diagnosis.find(free < Math.max(DANGER_ROOM_BYTES, data / 10) ? 'danger' : 'warning', 'disk', {
    text: `The disk of DATA_DIR has ${sizeText(free)} free, for ${sizeText(data)} of data.`,
    cost: 'Redis rewrites its append-only file beside the old one. On a full disk the private Redis ends, and every request gets 503.',
    mend: `Make room on the disk of ${folder}: ${sizeText(needed)} at least`,
  });
}

function sizeOf(folder: string): number {
  if (!existsSync(folder)) return 0;
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  let bytes = 0;
  for (const entry of entries)
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  return bytes;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(3, '0');
}

/** Examines those settings of the kernel about which Redis warns at its start. The Redis must be on this machine. */
export function examineKernel({ info, settings }: NodeFacts, diagnosis: Diagnosis): void {
  const overcommit = read('/proc/sys/vm/overcommit_memory')?.trim();
  const used = Number(info.get('used_memory') ?? 0);
  if (overcommit !== undefined && overcommit !== '1') {
    // With this setting the kernel requires as much free memory for a fork as Redis uses, although the fork needs far less.
    const isTight = used > (availableMemory() ?? Infinity) / 2;
    diagnosis.find(isTight ? 'warning' : 'note', 'overcommit', {
      text: `If memory is short, the kernel may refuse Redis a fork (vm.overcommit_memory = ${overcommit}).`,
      cost: 'Rewrites of the append-only file and backups then fail, and the file grows until the disk is full.',
      mend: 'sysctl vm.overcommit_memory=1 # and the same in /etc/sysctl.conf',
    });
  }
  // Redis 6.2 and newer turns huge pages off for its own process, unless disable-thp is set to no.
  const isAlways = read('/sys/kernel/mm/transparent_hugepage/enabled')?.includes('[always]') === true;
  if (isAlways && settings?.get('disable-thp') !== 'yes')
    diagnosis.find('warning', 'huge_pages', {
      text: 'Transparent huge pages are on for all processes, Redis included.',
      cost: 'After each fork Redis copies 2 MB for each change of a few bytes. Answers become slow, and memory use may double.',
      mend: 'echo madvise > /sys/kernel/mm/transparent_hugepage/enabled # or disable-thp yes in redis.conf',
    });
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
