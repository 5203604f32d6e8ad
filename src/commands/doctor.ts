import { readSettings } from '../config.ts';
import { examine, jsonOf, textOf } from '../apart/doctor/door.ts';
import { Failure, runCommand, type FlagsOf } from '../process/command.ts';
import { settingProblems } from '../setting-checks.ts';

/** The command `npm run doctor`. docs/operating.md describes it. */

const HELP = `Examines the settings, Redis, this machine and the running service, and reports risks and their remedies.

  npm run doctor -- [flags]        node src/commands/doctor.ts [flags]

It reads the settings from its environment: run it with the settings of the service. It changes nothing.

  --url URL   the address of the service. Default: the address of HOST and PORT
  --json      print one JSON document
  --help      print this text

Exit code: 0 no danger, 1 at least one danger, 2 bad flags.
`;

const EXIT = { healthy: 0, danger: 1, failed: 2 };

const FLAGS = {
  url: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

async function run(flags: FlagsOf<typeof FLAGS>): Promise<number> {
  const url = flags.url?.replace(/\/+$/, '');
  if (url !== undefined && (!/^https?:\/\//.test(url) || !URL.canParse(url)))
    throw new Failure('The flag --url takes an address such as http://127.0.0.1:3000.');
  const { config, problems } = readSettings(process.env, settingProblems);
  const diagnosis = await examine({ config, problems, environment: process.env, url });
  process.stdout.write(flags.json ? jsonOf(diagnosis) : textOf(diagnosis));
  return diagnosis.count('danger') > 0 ? EXIT.danger : EXIT.healthy;
}

await runCommand({ name: 'doctor', help: HELP, flags: FLAGS, run, failed: EXIT.failed });
