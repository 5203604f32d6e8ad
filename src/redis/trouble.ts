/** Why a Redis has ended, does not start, or refuses writes. */
export interface RedisTrouble {
  readonly kind:
    | 'disk_full'
    | 'disk_failed'
    | 'cut_tail'
    | 'newer_data'
    | 'no_rights'
    | 'damaged_data'
    | 'maxmemory'
    | 'no_memory'
    | 'crash';
  /** A sentence that says what is wrong. */
  readonly text: string;
  /** The section of the runbook that describes the solution. */
  readonly mend: string;
}

const RUNBOOK = 'docs/operations/runbook.md';

/**
 * The troubles, each recognised by words that Redis logs. The first match decides. The words are those of Redis 7.0 to 8.0 and Valkey 8.
 */
const TROUBLES: readonly (RedisTrouble & { readonly words: RegExp })[] = [
  {
    kind: 'disk_full',
    words: /No space left on device|Disk quota exceeded|File too large|Short write while writing to the AOF/,
    text: 'The disk of Redis is full.',
    mend: `${RUNBOOK}#a-full-disk`,
  },
  {
    kind: 'disk_failed',
    words: /Input\/output error|Read-only file system|AOF fsync error|recover from AOF write error|Errors? writing to the AOF|^MISCONF/,
    text: 'The disk of Redis does not take its writes.',
    mend: `${RUNBOOK}#a-full-disk`,
  },
  {
    kind: 'cut_tail',
    words: /Unexpected end of file reading the append only file/,
    text: 'The append-only file ends in the middle of a write.',
    mend: `${RUNBOOK}#a-cut-tail`,
  },
  {
    kind: 'newer_data',
    words: /handle RDB format version|Unknown RDB encoding|contains a module|module data I can't load/,
    text: 'The data was written by a newer Redis.',
    mend: `${RUNBOOK}#data-of-a-newer-redis`,
  },
  {
    kind: 'no_rights',
    words: /Permission denied|Operation not permitted/,
    text: 'Redis may not open its own files.',
    mend: `${RUNBOOK}#files-that-redis-may-not-open`,
  },
  {
    kind: 'damaged_data',
    words:
      /reading the append only file|AOF MANIFEST|AOF manifest|obtain the AOF file|The AOF file .* doesn't exist|AOF loading aborted|Wrong RDB checksum|RDB CRC error|Wrong signature|rdb file reading failed|error in RDB|Terminating server after/,
    text: 'The files of Redis are damaged.',
    mend: `${RUNBOOK}#a-damaged-append-only-file`,
  },
  {
    kind: 'maxmemory',
    words: /^OOM /,
    text: 'Redis has reached its maxmemory.',
    mend: `${RUNBOOK}#coinopredismemory`,
  },
  {
    kind: 'no_memory',
    words: /Out Of Memory|allocate memory/,
    text: 'There is no memory for Redis.',
    mend: `${RUNBOOK}#coinopredismemory`,
  },
  { kind: 'crash', words: /crashed by signal|ASSERTION FAILED/, text: 'Redis crashed.', mend: `${RUNBOOK}#a-redis-that-crashes` },
];

/**
 * @param signal the signal that ended Redis. If Redis logged nothing, the kernel sent SIGKILL because memory was short, or a person sent it
 */
export function troubleOf(lines: readonly string[], signal?: NodeJS.Signals | null): RedisTrouble | undefined {
  for (const { words, ...trouble } of TROUBLES) if (lines.some((line) => words.test(line))) return trouble;
  if (signal !== 'SIGKILL') return undefined;
  const text = 'SIGKILL ended Redis: the kernel sent it because memory ran out (dmesg tells), or somebody sent it by hand.';
  return { kind: 'no_memory', text, mend: `${RUNBOOK}#coinopredismemory` };
}

/** Whether the disk refuses writes. A Redis with appendfsync always answers reads and exits at its next write. */
export function isOfDisk(trouble: RedisTrouble | undefined): boolean {
  return trouble?.kind === 'disk_full' || trouble?.kind === 'disk_failed';
}
