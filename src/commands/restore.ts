import { restoreBackup } from '../apart/backup/door.ts';
import { readPrivatePlace } from '../process/opened-redis.ts';
import { Failure, runCommand, stopSignal, type FlagsOf } from '../process/command.ts';

/** The command `npm run restore`. docs/backup.md describes it. */

const HELP = `Restores a backup of npm run backup as the data of the private Redis in DATA_DIR. Stop the service first.

  npm run restore -- --from FILE        node src/commands/restore.ts --from FILE

The file is checked, loaded into a separate Redis and audited before it replaces other data. If anything is wrong,
nothing in DATA_DIR is changed.

  --from FILE          the backup
  --replace            replace the existing data, and keep it next to the restored data, as redis.before-<time>
  --tombstones FILE    a newer backup: delete the accounts again that it has as deleted. May be given several times.
                       The deletions in the replaced data are applied in any case
  --forget-deletions   restore even if the replaced data cannot be read
  --accept-drift       restore data that contradicts itself
  --help               print this text

To try a backup, restore it elsewhere: DATA_DIR=/tmp/try npm run restore -- --from FILE

Exit code: 0 restored, 2 not restored.
`;

const EXIT = { restored: 0, failed: 2 };

const FLAGS = {
  from: { type: 'string' },
  replace: { type: 'boolean', default: false },
  tombstones: { type: 'string', multiple: true },
  'forget-deletions': { type: 'boolean', default: false },
  'accept-drift': { type: 'boolean', default: false },
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  if (flags.from === undefined || flags.from === '') throw new Failure('Name the backup: --from FILE. See --help.');
  const signal = stopSignal(': nothing was restored.');
  const lines = await restoreBackup({
    dataDir: readPrivatePlace('restore it').DATA_DIR,
    from: flags.from,
    isReplacing: flags.replace,
    tombstoneFiles: flags.tombstones ?? [],
    forgetsDeletions: flags['forget-deletions'],
    acceptsDrift: flags['accept-drift'],
    signal,
  });
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
  return EXIT.restored;
}

await runCommand({ name: 'restore', help: HELP, flags: FLAGS, run, failed: EXIT.failed });
