import { cases } from './cases/cases.ts';
import { languages } from './languages.ts';
import { playable, Player } from './play.ts';

/** `node test/conformance/run.ts [LANGUAGE] [TEXT]`: plays the cases whose name or kind has the text, and says which a client fails. */
const [wanted = '', text = ''] = process.argv.slice(2);
let failures = 0;
for (const language of languages.filter(({ name }) => name.includes(wanted))) {
  const player = new Player(language);
  const startedAt = Date.now();
  const chosen = playable(language, cases).filter(({ name, kind }) => name.includes(text) || kind === text);
  for (const each of chosen) {
    const problem = await player.play(each);
    if (problem === undefined) continue;
    failures++;
    console.log(`✗ ${language.name}: ${each.kind}: ${each.name}\n    ${problem}`);
  }
  await player.close();
  console.log(`${language.name}: ${chosen.length} cases, ${failures} failures, ${Date.now() - startedAt} ms`);
}
process.exit(failures > 0 ? 1 : 0);
