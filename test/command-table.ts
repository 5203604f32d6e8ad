import type { CommandGroup } from '../src/operator/terminal/command.ts';

/** The commands of the operator's tool as a Markdown table, with the roles that they need. */
export function commandTable(groups: readonly CommandGroup[]): string {
  const rows = groups.flatMap(({ name, commands }) =>
    Object.entries(commands).map(([command, { words = [], flags = {}, role, summary }]) => {
      const given = Object.entries(flags).map(([flag, { value, isNeeded = false }]) => {
        const text = value === undefined ? `--${flag}` : `--${flag} ${value}`;
        return isNeeded ? text : `[${text}]`;
      });
      return `| \`${[name, command, ...words, ...given].join(' ').replaceAll('|', '\\|')}\` | \`${role}\` | ${summary} |`;
    }),
  );
  return ['| command | role | what it does |', '|---|---|---|', ...rows].join('\n');
}
