import type { Finding, Probe, RedisType, Texts } from './auditor.ts';
import { pairsOf } from '../redis/reply-pairs.ts';
import { pages } from './scan-pages.ts';

/** Elements of a list that one command reads. */
const PAGE = 500;

/**
 * Finds texts in a key that no version of the service writes. A finding names the field, the member or the place of a text. A finding does
 * not show values, because values may be secrets.
 * @param parts the groups of the pattern in the name of the key
 */
export async function checkTexts(key: string, type: RedisType, texts: Texts, parts: readonly string[], probe: Probe): Promise<Finding[]> {
  const { what, isRight, counted, kind = 'unreadable_record', subject = ([id]) => `account ${id}`, mend } = texts;
  const wrong = new Map<string, string[]>();
  let count = 0;
  for await (const [name, text] of textsOf(key, type, texts.fields, probe)) {
    count++;
    if (isRight(text, name)) continue;
    const about = subject(parts, name);
    wrong.set(about, [...(wrong.get(about) ?? []), name]);
  }
  if (counted !== undefined) probe.count(counted, count);
  return [...wrong].map(([about, names]) => {
    const which =
      type === 'string' ? 'has a text that' : `has ${names.length} ${names.length === 1 ? 'text' : 'texts'} ("${names[0]}") that`;
    const text = `Its ${what} ${which} cannot be read.`;
    return { kind, subject: about, text, ...(mend === undefined ? {} : { commands: mend(key, probe.now()) }) };
  });
}

/** Yields each text of a key with its name: the field of a hash, the place in a list, the member of a set or a sorted set. */
async function* textsOf(
  key: string,
  type: RedisType,
  fields: readonly string[] | undefined,
  probe: Probe,
): AsyncGenerator<[name: string, text: string]> {
  if (type === 'string') {
    const text = (await probe.ask('GET', key)) as string | null;
    if (text !== null) yield ['', text];
  } else if (fields !== undefined) {
    const values = await probe.fields(key, ...fields);
    for (const [index, name] of fields.entries()) yield [name, values[index] ?? ''];
  } else if (type === 'list')
    for (let start = 0, isLast = false; !isLast; start += PAGE) {
      const page = (await probe.ask('LRANGE', key, start, start + PAGE - 1)) as string[];
      for (const [index, text] of page.entries()) yield [`entry ${start + index + 1}`, text];
      isLast = page.length < PAGE;
    }
  else if (type === 'set') for await (const page of pages(probe, 'SSCAN', key)) for (const member of page) yield [member, member];
  else
    for await (const page of pages(probe, type === 'hash' ? 'HSCAN' : 'ZSCAN', key))
      for (const [name, value] of pairsOf(page)) yield [name, type === 'hash' ? value : name];
}
