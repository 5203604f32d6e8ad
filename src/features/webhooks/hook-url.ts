import { isIP } from 'node:net';
import { isAllowedAddress } from './allowed-addresses.ts';

/** The most characters of a hook's URL. The bound is more than an endpoint needs, and small enough for a table of fifty hooks. */
export const MOST_URL_LENGTH = 1024;

/**
 * Ports below 1024 that a hook may have. '' is the default port. Other ports below 1024 belong to services such as mail, which could take a
 * request for their own commands.
 */
const WEB_PORTS = ['', '80', '443'];

/** Names of the machine itself (RFC 6761, section 6.3). A name server need not know them. */
const LOOPBACK_NAME = /(?:^|\.)localhost\.?$/;

/**
 * Finds a problem of a hook's URL without DNS. Undefined if there is none.
 * @returns a part of a sentence, such as `must begin with https://`
 */
export function urlProblem(text: string, allowsPrivate: boolean): string | undefined {
  if (text.length > MOST_URL_LENGTH) return `must have at most ${MOST_URL_LENGTH} characters`;
  if (!URL.canParse(text)) return 'must be a URL such as https://play.example/coinop';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && allowsPrivate))
    return `must begin with https://${url.protocol === 'http:' ? ': http:// needs WEBHOOKS_PRIVATE=on' : ''}`;
  if (url.username !== '' || url.password !== '') return 'must hold no user and no password';
  if (url.hash !== '') return 'must hold no #';
  if (!WEB_PORTS.includes(url.port) && Number(url.port) < 1024) return 'must have the port 80, 443, or one from 1024 on';
  const host = LOOPBACK_NAME.test(url.hostname) ? '127.0.0.1' : hostOf(url);
  if (isIP(host) === 0 || isAllowedAddress(host, allowsPrivate)) return undefined;
  return refusalOf(host, allowsPrivate);
}

/** The URL without path and query, because both may contain a secret. */
export function placeOf(url: string): string {
  return URL.parse(url)?.origin ?? 'an unknown place';
}

/**
 * The host of a URL as a name or an address. `URL` has already turned every spelling of an IPv4 address, such as 0x7f.1, into the usual
 * one.
 */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** The reason why `isAllowedAddress` refuses an address, as a part of a sentence. */
export function refusalOf(address: string, allowsPrivate: boolean): string {
  return isAllowedAddress(address, true) && !allowsPrivate
    ? `must not lead to ${address}, a private address, without WEBHOOKS_PRIVATE=on`
    : `must not lead to ${address}`;
}
