import { uws, type HttpResponse } from '../../src/server/uws.ts';
import { ready } from '../processes/parent.ts';
import { topTen } from './top-ten.ts';

/** A floor: uWebSockets.js alone, which answers with constants. */
const health = JSON.stringify({ ok: true, service: 'coinop' });
const top = JSON.stringify({ ok: true, game: 'bench', top: topTen });

function answer(response: HttpResponse, body: string): void {
  response.writeHeader('content-type', 'application/json').end(body);
}

uws
  .App()
  .get('/health', (response) => answer(response, health))
  .get('/v1/highscores/:game', (response) => answer(response, top))
  .listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (socket !== false) ready({ port: uws.us_socket_local_port(socket) });
  });
