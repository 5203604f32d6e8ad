import { pino } from 'pino';
import { takeBackup } from '../apart/backup/door.ts';
import { readPrivatePlace } from '../process/opened-redis.ts';
import { Failure, runCommand, stopSignal, type FlagsOf } from '../process/command.ts';

/** The command `npm run backup`. docs/backup.md describes it. */

const HELP = `Writes a backup of the private Redis of DATA_DIR. The service may be running.

  npm run backup -- --to FILE|FOLDER        node src/commands/backup.ts --to FILE|FOLDER

The backup contains every operation that was acknowledged before it began. The copy is loaded into a separate Redis
and audited before the file gets its name. An existing file is never overwritten.

  --to FILE|FOLDER   the file to write, or the folder for a file named after the time
  --no-session-keys  leave out DATA_DIR/session-keys, the keys that sign sessions if SESSION_KEYS is not set
  --no-audit         do not load and audit the copy, if there is no memory for a second Redis
  --json             print one JSON document about the backup
  --help             print this text

Exit code: 0 backup written; 1 backup written, but its data has drift; 2 no backup.
`;

const EXIT = { good: 0, drift: 1, failed: 2 };

const FLAGS = {
  to: { type: 'string' },
  'no-session-keys': { type: 'boolean', default: false },
  'no-audit': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  if (flags.to === undefined || flags.to === '') throw new Failure('Name the file or the folder: --to FILE|FOLDER. See --help.');
  const signal = stopSignal(': there is no backup.');
  const config = readPrivatePlace('back it up');
  const { file, manifest, drift, hints } = await takeBackup({
    config,
    to: flags.to,
    withSessionKeys: !flags['no-session-keys'],
    isAudited: !flags['no-audit'],
    log: pino({ level: 'silent' }),
    signal,
  });
  if (flags.json) process.stdout.write(`${JSON.stringify({ file, ...manifest })}\n`);
  else {
    const { verified, data } = manifest;
    const figures =
      verified === null
        ? 'not audited'
        : `${verified.accounts} ${verified.accounts === 1 ? 'account' : 'accounts'}, ${verified.coins} coins, ${verified.tombstones} deleted accounts`;
    process.stdout.write(
      `${file}\n${manifest.at}, ${data.bytes} bytes of data, ${figures}${verified === null || drift !== undefined ? '' : ', no drift'}.\n`,
    );
    for (const hint of hints) process.stdout.write(`${hint}\n`);
  }
  if (drift === undefined) return EXIT.good;
  console.error(`coinop backup: The backup is whole, and the data in it contradicts itself. Run npm run audit.\n${drift}`);
  return EXIT.drift;
}

await runCommand({ name: 'backup', help: HELP, flags: FLAGS, run, failed: EXIT.failed });
