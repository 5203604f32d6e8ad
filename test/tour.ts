import { readFileSync } from 'node:fs';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** The shell lines of the README's tour: of coins, scores, rooms, pairing and trials; and of the stores. */
export const [firstTour = '', storeTour = ''] = [...readme.slice(readme.indexOf('## A tour')).matchAll(/```sh\n([\s\S]*?)```/g)].map(
  ([, lines]) => lines!,
);

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
