import { model } from '../src/clients/model.mjs';

/** The pages of features that have none of their own name. */
const PAGES: Readonly<Record<string, string>> = { signIns: '../sign-ins.md', products: '../features/purchases.md' };

/** Calls that JavaScript has elsewhere: `listRooms` and `quickMatch` of rooms.js, `savesOf` of saves.js. The rest of saves is for HTTP. */
export const ELSEWHERE_IN_JAVASCRIPT = ['rooms.list', 'rooms.match', 'saves.load', 'saves.save', 'saves.list', 'saves.delete'];

/**
 * The calls of a client as a Markdown table for its page below docs/clients.
 * @param spell the name of a feature or a call in the language
 * @param elsewhere calls that the client has under other names. A quick match gives the room itself in every language
 */
export function callTable(spell: (name: string) => string, elsewhere: readonly string[] = ['rooms.match']): string {
  const rows = new Map<string, string[]>();
  for (const { name, feature, call } of model().calls)
    if (!elsewhere.includes(name)) rows.set(feature, [...(rows.get(feature) ?? []), `\`${spell(call)}\``]);
  const cells = [...rows].map(
    ([feature, calls]) => `| [\`${spell(feature)}\`](${PAGES[feature] ?? `../features/${feature}.md`}) | ${calls.join(', ')} |`,
  );
  return ['| feature | calls |', '|---|---|', ...cells].join('\n');
}
