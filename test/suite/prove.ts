import { parseArgs } from 'node:util';
import { proveFigures } from './figures.ts';
import { proveHostile } from './hostile.ts';
import { mistakes } from './planted/mistakes.ts';
import { provePlanted } from './planted/planted.ts';

/** Proves what the test suite itself promises: `npm run prove:suite`. Exits with 1 if a part of the proof does not hold. */

const HELP = `npm run prove:suite -- [flags]

  --only NAME,NAME    these parts only: hostile, figures, planted
  --names NAME,NAME   planted: these mistakes only; --list shows them
  --list              print the mistakes
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    names: { type: 'string' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** The parts of the proof, by name. */
const parts: Readonly<Record<string, () => Promise<boolean>>> = {
  hostile: proveHostile,
  figures: proveFigures,
  planted: () => provePlanted(values.names?.split(',')),
};

const wanted = values.only?.split(',') ?? Object.keys(parts);
const unknown = wanted.filter((name) => !Object.hasOwn(parts, name));
if (values.help) console.log(HELP);
else if (values.list) for (const { name, harm } of mistakes) console.log(`${name.padEnd(30)} ${harm}`);
else if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}. See --help.`);
  process.exitCode = 1;
} else for (const name of wanted) if (!(await parts[name]!())) process.exitCode = 1;
