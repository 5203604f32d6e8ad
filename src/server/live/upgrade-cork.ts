import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { uws, type HttpResponse, type TemplatedApp } from '../uws.ts';

/**
 * The cork for upgrades that had to wait for asynchronous work.
 *
 * uWS wants every write to a response inside a cork callback; for any other write it prints a warning on standard error. But after an
 * upgrade inside its own `response.cork`, uWS reads the response once more, although the memory of the response belongs to the WebSocket
 * already. Sometimes it reads bytes that look like `Connection: close`, and closes the socket that it has just opened (uWebSockets #1928,
 * fixed by #1929, which no build for Node 22 has). Under load this closed one socket in ten.
 *
 * So upgrades run inside the cork of another response. For this purpose the process sends itself a request and never answers it.
 */
export class UpgradeCork {
  readonly #app: TemplatedApp = uws.App();
  #client: Socket | undefined;
  #held: HttpResponse | undefined;

  /** Makes the response whose cork the upgrades use. If this fails, upgrades still work, but each prints a warning on standard error. */
  async open(): Promise<void> {
    const path = `/${randomBytes(18).toString('base64url')}`;
    await new Promise<void>((resolve) => {
      this.#app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (listening) => {
        if (listening === false) return resolve();
        this.#app.get(path, (response) => {
          response.onAborted(() => (this.#held = undefined));
          this.#held = response;
          // The port was opened only for this request.
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
