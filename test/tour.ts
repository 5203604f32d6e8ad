import { readFileSync } from 'node:fs';

/** The first shell lines below a heading of a page. */
function shellLines(page: string, heading: string): string {
  const text = readFileSync(new URL(`../${page}`, import.meta.url), 'utf8');
  return /```sh\n([\s\S]*?)```/.exec(text.slice(text.indexOf(`\n${heading}\n`)))![1]!;
}

/** The tour of coins, scores, rooms, pairing and trials. */
export const firstTour = shellLines('README.md', '## A tour with curl');

/** The tour of the stores, which goes on with the settings of the first. */
export const storeTour = shellLines('docs/stores.md', '## Try it');

/** The line that names the service's address and the content type, which every other line of the tour uses. */
export const tourSettings = firstTour.split('\n')[0]!;

/** The lines against another address, each answer on a line of its own. */
export function tourScript(lines: string, url: string): string {
  return lines.replace('http://127.0.0.1:3000', url).replaceAll(/^(curl .*)$/gm, '$1; echo');
}

/** How many answers the lines print. */
export function countAnswers(lines: string): number {
  return lines.match(/^curl /gm)!.length;
}
