/** An HTTP request that the page has sent. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The request as a curl command for a shell. */
export function curlOf({ method, url, headers, body }: Sent): string {
  const parts = [
    `curl -s ${method === 'GET' || (method === 'POST' && body !== undefined) ? '' : `-X ${method} `}${quoted(url)}`,
    ...Object.entries(headers).map(([header, value]) => `-H ${quoted(`${header}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ];
  return parts.join(' \\\n  ');
}

/**
 * The text with session tokens shortened, as the page shows it. A token has 200 characters. When a person copies the command, the copy has
 * the whole token.
 */
export const shortened = (text: string): string => text.replace(/(eyJ[\w-]{6})[\w.-]{20,}/g, '$1…');

/** JSON with line breaks. A text that is not JSON stays as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
