import type { Config } from '../../config.ts';
import { keyFileProblems } from '../apple/private-key.ts';
import { togetherProblems } from '../setting-groups.ts';
import { isFetchable, type Provider } from './provider.ts';

/** The life of Google's ID tokens, in seconds. */
const GOOGLE_SECONDS = 3600;

/** Apple's ID tokens live a day. Those of most other providers live shorter. */
const DAY_SECONDS = 86_400;

const byOthersClock = { isByRedisClock: false } as const;

/** The providers for which an operator sets only the client ids. */
const builtIn = {
  google: {
    ...byOthersClock,
    name: 'google',
    key: 'google',
    // The two values of `iss` that Google's tokens have
    // (https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken).
    issuers: ['https://accounts.google.com', 'accounts.google.com'],
    keysUrl: 'https://www.googleapis.com/oauth2/v3/certs',
    algorithms: ['RS256'],
    maxAgeSeconds: GOOGLE_SECONDS,
    hashesNonce: false,
  },
  apple: {
    ...byOthersClock,
    name: 'apple',
    key: 'https://appleid.apple.com',
    issuers: ['https://appleid.apple.com'],
    // https://developer.apple.com/documentation/signinwithapplerestapi/fetch_apple_s_public_key_for_verifying_token_signature
    keysUrl: 'https://appleid.apple.com/auth/keys',
    algorithms: ['RS256'],
    maxAgeSeconds: DAY_SECONDS,
    hashesNonce: true,
  },
} as const satisfies Record<string, Omit<Provider, 'clientIds'>>;

/** The providers of the settings. With STORE=sandbox the sandbox stands in for Google and Apple. */
export function providersOf({ STORE, GOOGLE_CLIENT_IDS, APPLE_CLIENT_IDS, OPENID_PROVIDERS }: Config): Provider[] {
  const stores =
    STORE === 'sandbox' || STORE === 'off'
      ? []
      : [
          { ...builtIn.google, clientIds: GOOGLE_CLIENT_IDS },
          { ...builtIn.apple, clientIds: APPLE_CLIENT_IDS },
        ];
  const others = OPENID_PROVIDERS.map(({ name, issuer, clientIds }): Provider => ({
    ...byOthersClock,
    name,
    key: issuer,
    issuers: [issuer],
    clientIds,
    keysUrl: undefined,
    algorithms: ['RS256', 'ES256'],
    maxAgeSeconds: DAY_SECONDS,
    hashesNonce: false,
  }));
  return [...stores.filter(({ clientIds }) => clientIds.length > 0), ...others];
}

/** Names that mean something else in places where operators name an account, as in `install:…`. */
const TAKEN_NAMES = ['sandbox', 'account', 'install', 'order', 'purchase', 'room', 'player', 'name', 'key'];

/**
 * The issuers of the sandbox's stand-ins, except Google's stand-in, begin with this text. The text does not contain the service's address.
 */
export const SANDBOX_ISSUER = 'https://sandbox.coinop/';

type NamingConfig = Pick<Config, 'STORE' | 'OPENID_PROVIDERS'>;

/** The part of account ids that stands for the provider with this name. Undefined: the settings name no such provider. */
export function keyOfProvider(name: string, { STORE, OPENID_PROVIDERS }: NamingConfig): string | undefined {
  // The part for the sandbox's first provider is the name of the store.
  if (name === 'google' || name === 'sandbox') return name;
  if (name === 'apple') return STORE === 'sandbox' ? `${SANDBOX_ISSUER}${name}` : builtIn.apple.key;
  return OPENID_PROVIDERS.find((provider) => provider.name === name)?.issuer;
}

/**
 * The name of a provider for people to read, found by its part of account ids. If a provider is no longer configured, its issuer serves as
 * its name.
 */
export function nameOfProvider(key: string, { OPENID_PROVIDERS }: Pick<Config, 'OPENID_PROVIDERS'>): string {
  if (key === 'sandbox') return builtIn.google.name;
  if (key.startsWith(SANDBOX_ISSUER)) return key.slice(SANDBOX_ISSUER.length);
  const fixed = Object.values(builtIn).find((row) => row.key === key)?.name;
  return fixed ?? OPENID_PROVIDERS.find(({ issuer }) => issuer === key)?.name ?? key;
}

/** The problems of the providers' settings that stop the start, one line for each. */
export function providerProblems(config: Config): string[] {
  return [
    ...rowProblems(config),
    ...togetherProblems(config, ['APPLE_TEAM_ID', 'APPLE_SIGN_IN_KEY_ID', 'APPLE_SIGN_IN_KEY_FILE']),
    ...keyFileProblems('APPLE_SIGN_IN_KEY_FILE', config.APPLE_SIGN_IN_KEY_FILE),
  ];
}

function rowProblems({ OPENID_PROVIDERS: rows, production }: Config): string[] {
  const fixed = Object.values(builtIn);
  const problems = rows.flatMap(({ name, issuer }, index) => {
    const earlier = rows.slice(0, index);
    if (fixed.some((row) => row.name === name) || TAKEN_NAMES.includes(name)) return [`names a provider ${name}: this name is taken`];
    if (earlier.some((row) => row.name === name)) return [`names two providers ${name}`];
    if (!isIssuer(issuer, !production)) return [`has an issuer ${issuer} that is not ${issuerRule(production)}`];
    if (fixed.some(({ issuers }) => issuers.some((other) => isSame(issuer, other))))
      return [`has the issuer ${issuer} of a provider that has settings of its own`];
    return earlier.some((row) => isSame(issuer, row.issuer)) ? [`has two providers with the issuer ${issuer}`] : [];
  });
  return problems.map((problem) => `OPENID_PROVIDERS ${problem}`);
}

/** What an issuer must be. */
export const issuerRule = (production: boolean): string =>
  `an https URL without query and fragment${production ? '' : ' (http on this machine is one)'}`;

export function isIssuer(text: string, allowsLoopbackHttp: boolean): boolean {
  return isFetchable(text, allowsLoopbackHttp) && !/[?#]/.test(text);
}

/** Whether players sign in with this issuer, or could do so once the settings name a client id for it. */
export function isOfPlayers(issuer: string, { OPENID_PROVIDERS }: Pick<Config, 'OPENID_PROVIDERS'>): boolean {
  const theirs = [...Object.values(builtIn).flatMap(({ issuers }) => [...issuers]), ...OPENID_PROVIDERS.map((row) => row.issuer)];
  return theirs.some((other) => isSame(issuer, other));
}

/** Whether two texts are spellings of the same issuer. Google's tokens may name their issuer without `https://`. */
export function isSame(one: string, other: string): boolean {
  const plain = (text: string): string => (URL.parse(text)?.href ?? `https://${text}/`).replace(/\/+$/, '');
  return plain(one) === plain(other);
}
