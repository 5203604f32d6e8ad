import type { Config } from '../../config.ts';
import { isIssuer, isOfPlayers, isSame, issuerRule } from '../../stores/openid/provider-table.ts';
import { mayAct, roles, type Role } from '../../server/identity/roles.ts';

type ConsoleProvider = Config['CONSOLE_SIGN_IN'][number];

/** The problems of CONSOLE_SIGN_IN that stop the start, one line for each. */
export function consoleProviderProblems(config: Config): string[] {
  const { CONSOLE_SIGN_IN: rows, production } = config;
  const problems = rows.flatMap(({ name, issuer, groups }, index) => {
    const earlier = rows.slice(0, index);
    const [wrong] = Object.values(groups).filter((role) => !(roles as readonly string[]).includes(role));
    if (wrong !== undefined) return [`gives a group of ${name} a role that is none of ${roles.join(', ')}`];
    if (Object.keys(groups).length === 0) return [`gives no group of ${name} a role, so nobody could sign in`];
    if (earlier.some((row) => row.name === name)) return [`names two providers ${name}`];
    if (!isIssuer(issuer, !production)) return [`has an issuer ${issuer} that is not ${issuerRule(production)}`];
    if (earlier.some((row) => isSame(row.issuer, issuer))) return [`has two providers with the issuer ${issuer}`];
    // Every player could sign in there. Only the groups would keep players out of the console.
    return isOfPlayers(issuer, config) ? [`has the issuer ${issuer} of a provider with which players sign in`] : [];
  });
  return problems.map((problem) => `CONSOLE_SIGN_IN ${problem}`);
}

/** The highest role that any of the groups gives. Undefined: none gives a role. */
export function roleOf(groups: readonly string[], { groups: mapped }: Pick<ConsoleProvider, 'groups'>): Role | undefined {
  const given = groups.flatMap((group) => (Object.hasOwn(mapped, group) ? [mapped[group] as Role] : []));
  return given.reduce<Role | undefined>((best, role) => (best === undefined || mayAct(role, best) ? role : best), undefined);
}
