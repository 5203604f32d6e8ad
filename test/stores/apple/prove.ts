import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { now } from '../../proofs/history.ts';
import type { Part, Stand } from '../../proofs/proof.ts';
import { fixtures, modelTexts, NO_TRANSACTIONS, rebuilt, storedTexts } from './apple-fixtures.ts';
import { mutatedTexts } from './mutated-texts.ts';
import { reasons, type Reason } from './text-changes.ts';
import { apple } from './text-draft.ts';
import { appleLibraryIn, coinopVerdict, libraryVerdict, type AppleLibrary } from './verdicts.ts';

/** The texts at full size. Apple's library needs some 2.5 ms for a text and verifier, so they take ten minutes. */
const TEXTS = 100_000;

export const parts: readonly Part[] = [
  {
    ...{ proof: 'apple', name: 'apple-fixtures', seconds: 20, prove: proveFixtures },
    about:
      "the signed texts, chains and payloads of the repository of Apple's library get the same verdict from coinop as from the library",
  },
  {
    ...{ proof: 'apple', name: 'apple-mutations', seconds: 900, least: 60, prove: proveMutations },
    about:
      "texts that were changed and signed again: coinop takes none that Apple's library refuses, and each that only coinop refuses has a reason",
  },
];

/** Installs Apple's library into the stand, by the lock file beside this file, without its install scripts. Undefined: npm cannot. */
function fetchLibrary({ folder, figures }: Stand): AppleLibrary | undefined {
  cpSync(fileURLToPath(new URL('library', import.meta.url)), folder, { recursive: true });
  const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    encoding: 'utf8',
  });
  figures.report('npm fetches @apple/app-store-server-library', npm.status === 0 ? 'yes' : 'no', 'yes', npm.status === 0);
  if (npm.status === 0) return appleLibraryIn(folder);
  console.log(npm.stderr);
  return undefined;
}

async function proveFixtures(stand: Stand): Promise<void> {
  const library = fetchLibrary(stand);
  if (library === undefined) return;
  const { figures } = stand;
  const differing: string[] = [];
  let count = 0;
  const compare = (name: string, one: unknown, other: unknown): void => {
    count++;
    if (one !== other) differing.push(`${name}: coinop ${String(one)}, the library ${String(other)}`);
  };
  for (const { name, text, method, isTaken } of storedTexts) {
    const verifier = new library.SignedDataVerifier([Buffer.from(fixtures.testRoot, 'base64')], false, 'Sandbox', 'com.example', 1234);
    const other = await verifier[method](text).then(
      () => true,
      () => false,
    );
    compare(name, await isTaken(), other);
  }
  figures.exactly('stored texts', count, storedTexts.length);
  const [ours, theirs] = [coinopVerdict(apple.der), libraryVerdict(library, apple.der)];
  for (const { name, text, kind } of [...rebuilt(), ...modelTexts()])
    compare(name, await ours(text, kind), (await theirs(text, kind)) && !NO_TRANSACTIONS.includes(name));
  figures.report('texts that were compared', count);
  figures.exactly('texts with another verdict', differing.length, 0);
  for (const difference of differing) console.log(`    ${difference}`);
}

async function proveMutations(stand: Stand): Promise<void> {
  const library = fetchLibrary(stand);
  if (library === undefined) return;
  const { figures, flags, size, endsBy, history } = stand;
  const [ours, theirs] = [coinopVerdict(apple.der), libraryVerdict(library, apple.der)];
  const found = {
    'texts with another verdict of coinop than the table says': 0,
    'texts that only coinop takes': 0,
    'differences without a reason': 0,
  };
  const stricter = new Map<Reason, number>();
  let [count, taken] = [0, 0];
  figures.report('seed', flags.seed);
  for (const { text, kind, changes, isTaken, reasons: named } of mutatedTexts(Math.ceil(TEXTS * size), flags.seed)) {
    if (now() > endsBy) break;
    const [own, other] = [await ours(text, kind), await theirs(text, kind)];
    count++;
    taken += Number(own);
    const problems = {
      'texts with another verdict of coinop than the table says': own !== isTaken,
      'texts that only coinop takes': own && !other,
      'differences without a reason': other && !own && named.length === 0,
    };
    for (const [what, isSo] of Object.entries(problems) as [keyof typeof found, boolean][]) {
      if (!isSo) continue;
      if (found[what]++ < 5) console.log(`    ${what}: ${kind}, ${changes.join(', ')}`);
      history.note({ what, kind, changes, text });
    }
    if (other && !own) for (const reason of named) stricter.set(reason, (stricter.get(reason) ?? 0) + 1);
  }
  figures.atLeast('texts that were compared', count, 100);
  figures.report('of which both take', taken);
  figures.none(found);
  for (const [reason, about] of Object.entries(reasons))
    figures.needs(`only coinop refuses: ${about}`, stricter.get(reason as Reason) ?? 0);
}
