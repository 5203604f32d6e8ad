import { readFileSync } from 'node:fs';

/** The first shell lines below a heading of a page. */
function shellLines(page: string, heading: string): string {
  const text = readFileSync(new URL(`../${page}`, import.meta.url), 'utf8');
  return /```sh\n([\s\S]*?)```/.exec(text.slice(text.indexOf(`\n${heading}\n`)))![1]!;
}

/** The tour of coins, scores, rooms, pairing and trials. */
export const firstTour = shellLines('README.md', '## A tour with curl');

/** The tour of the stores. It continues with the settings of the first tour. */
export const storeTour = shellLines('docs/stores.md', '## Try it');

/** The line that sets the service's address and the content type. Every other line of the tour uses them. */
export const tourSettings = firstTour.split('\n')[0]!;

/** The lines with another address, and each answer on a separate line. */
export function tourScript(lines: string, url: string): string {
  return lines.replace('http://127.0.0.1:3000', url).replaceAll(/^(curl .*)$/gm, '$1; echo');
}

/** The number of answers that the lines print. */
export function countAnswers(lines: string): number {
  return lines.match(/^curl /gm)!.length;
}
