import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly line: string;
  readonly body: string;
  readonly headers: Record<string, string | string[] | undefined>;
}

type Answer = [status: number, body: string, headers?: Record<string, string>] | 'cut';

/** A server that stands in for the service or a proxy. It sends one answer after the other, and repeats the last. */
export async function answering(...answers: Answer[]) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push({ line: `${request.method} ${request.url}`, body, headers: request.headers });
    const answer = answers[Math.min(seen.length, answers.length) - 1]!;
    if (answer === 'cut') return void request.socket.destroy();
    response.writeHead(answer[0], answer[2]);
    response.end(answer[1]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const refusal = (code: string, more = {}) =>
  JSON.stringify({ ok: false, error: { code, message: code, ...more }, requestId: 'r-1' });
