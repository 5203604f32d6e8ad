export type Headers = readonly (readonly [name: string, value: string])[];

/** The header lines of a response. `cache-control` is `no-store` unless given, because no cache may keep balances or sessions. */
export function responseLines(status: number, mediaType: string, headers: Headers): string {
  const isBodiless = status === 204 || status === 304;
  const contentType: Headers = isBodiless
    ? []
    : [
        ['content-type', mediaType],
        ['x-content-type-options', 'nosniff'],
      ];
  const cacheRule: Headers = headers.some(([name]) => name === 'cache-control') ? [] : [['cache-control', 'no-store']];
  return headerLines([...contentType, ...cacheRule, ...headers]);
}

/**
 * Header lines in wire format, each preceded by its line break.
 * @throws if a value has a line break: whoever chose the value could otherwise add a header of their own
 */
export function headerLines(headers: Headers): string {
  let lines = '';
  for (const [name, value] of headers) {
    if (/[\r\n]/.test(value)) throw new Error(`The header ${name} holds a line break`);
    lines += `\r\n${name}: ${value}`;
  }
  return lines;
}

export function statusLine(status: number): string {
  return statusLines[status] ?? String(status);
}

const statusLines: Record<number, string> = {
  200: '200 OK',
  204: '204 No Content',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  410: '410 Gone',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  426: '426 Upgrade Required',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
};
