import { chunk, post, type FramingCase, type Outcome } from './case.ts';

/** A credit in the body of another request. It is data, and must not run. */
const inner = (body: string): string => post([`Content-Length: ${body.length}`], body);

const requests: [line: string, withLength: Outcome, withChunks: Outcome][] = [
  ['GET /health', 'answered 200', 'answered 200 last'],
  ['HEAD /health', 'answered 200', 'answered 200 last'],
  ['GET /v1/catalogue', 'answered 200', 'answered 200 last'],
  ['OPTIONS /health', 'answered 204 last', 'answered 204 last'],
  ['OPTIONS *', 'answered 505 last', 'answered 505 last'],
  ['TRACE /health', 'answered 405 last', 'answered 405 last'],
  ['DELETE /health', 'answered 405 last', 'answered 405 last'],
  ['PATCH /nowhere', 'answered 404 last', 'answered 404 last'],
  ['CONNECT x:80', 'answered 505 last', 'answered 505 last'],
  ['POST /v1/account/resolve', 'answered 415', 'answered 415 last'],
];

export const otherMethods: FramingCase[] = requests.flatMap(([line, withLength, withChunks]): FramingCase[] => [
  {
    name: `${line} with a credit in its body`,
    bytes: (body) => `${line} HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner(body).length}\r\n\r\n${inner(body)}`,
    expected: withLength,
  },
  {
    name: `${line} with a credit in a chunk`,
    bytes: (body) => `${line} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(inner(body))}0\r\n\r\n`,
    expected: withChunks,
  },
  {
    name: `${line} with a credit in its body, and Expect`,
    bytes: (body) => `${line} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${inner(body).length}\r\n\r\n${inner(body)}`,
    expected: withLength,
  },
  {
    name: `${line} with a credit in its body, in doubt`,
    bytes: (body) => `${line} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: ${inner(body).length}\r\n\r\n${inner(body)}`,
    // uWS reads the credit as a request while the refusal is still due, and closes the connection.
    expected: withLength === 'answered 505 last' ? withLength : 'dropped',
  },
  // uWS runs the credit in the body of a GET or HEAD: docs/operating.md, requests on the wire.
  ...(/^(GET|HEAD) /.test(line)
    ? []
    : ([
        {
          name: `${line} with a credit in its body, whose length stands behind a header without a name`,
          bytes: (body: string) => `${line} HTTP/1.1\r\nHost: x\r\n: x\r\nContent-Length: ${inner(body).length}\r\n\r\n${inner(body)}`,
          // As above: the connection is to close after the answer, so a second request may not come before it.
          expected: withLength === 'answered 505 last' ? withLength : 'dropped',
        },
      ] satisfies FramingCase[])),
]);
