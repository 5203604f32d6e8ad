/** A request as the page sent it. */
export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The request as a command for a shell. */
export function curlOf({ method, url, headers, body }: Sent): string {
  const parts = [
    `curl -s ${method === 'GET' || (method === 'POST' && body !== undefined) ? '' : `-X ${method} `}${quoted(url)}`,
    ...Object.entries(headers).map(([header, value]) => `-H ${quoted(`${header}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ];
  return parts.join(' \\\n  ');
}

/** A session's token is 200 characters long. The command on the page shows its beginning, and the copy has all of it. */
export const shortened = (text: string): string => text.replace(/(eyJ[\w-]{6})[\w.-]{20,}/g, '$1…');

/** JSON with line breaks. Any other text stays as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
