import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { uws, type HttpResponse, type TemplatedApp } from '../uws.ts';

/**
 * Where an upgrade that had to wait for something is done.
 *
 * uWS wants every write to a response inside a cork callback, and says so on standard error where one is not. But after
 * the upgrade's own `response.cork` it looks at the response once more, although that memory is a WebSocket by then: now and
 * then it finds what looks like `Connection: close` there, and closes the socket it has just opened (uWebSockets #1928,
 * fixed by #1929, which no build for Node 22 has). Under load that met one socket in ten.
 *
 * So upgrades are done inside the cork of another response: one that this process asks of itself, and never answers.
 */
export class UpgradeCork {
  readonly #app: TemplatedApp = uws.App();
  #client: Socket | undefined;
  #held: HttpResponse | undefined;

  /** Without it upgrades work too, with a line on standard error each. */
  async open(): Promise<void> {
    const path = `/${randomBytes(18).toString('base64url')}`;
    await new Promise<void>((resolve) => {
      this.#app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (listening) => {
        if (listening === false) return resolve();
        this.#app.get(path, (response) => {
          response.onAborted(() => (this.#held = undefined));
          this.#held = response;
          // Nobody else has any business here.
          uws.us_listen_socket_close(listening);
          resolve();
        });
        this.#client = connect(uws.us_socket_local_port(listening), '127.0.0.1');
        this.#client.on('error', resolve);
        this.#client.on('close', resolve);
        this.#client.unref();
        this.#client.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
      });
    });
  }

  run(upgrade: () => void): void {
    if (this.#held === undefined) upgrade();
    else this.#held.cork(upgrade);
  }

  close(): void {
    this.#client?.destroy();
    this.#app.close();
  }
}
