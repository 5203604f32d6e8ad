/**
 * The parts of the header User-Agent that name a browser, the most specific first: Edge and Opera name Chrome too, and Chrome names Safari.
 */
const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/.*\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'Mac'],
  [/\bLinux\b/, 'Linux'],
];

const nameIn = (names: typeof BROWSERS, text: string): string | undefined => names.find(([pattern]) => pattern.test(text))?.[1];

/**
 * The common name of a browser, such as `Chrome on Linux`. A User-Agent of another form is returned unchanged, because it may be the name
 * of an app.
 */
export function browserOf(userAgent = ''): string {
  const [browser, system] = [nameIn(BROWSERS, userAgent), nameIn(SYSTEMS, userAgent)];
  // The User-Agent of every browser begins with this text (RFC 9110, section 10.1.5; sites expect it). An app may name a browser although
  // it is none.
  if (browser === undefined || !userAgent.startsWith('Mozilla/5.0 (')) return userAgent || 'Unknown browser';
  return system === undefined ? browser : `${browser} on ${system}`;
}
