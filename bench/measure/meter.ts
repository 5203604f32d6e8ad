import type { Figures } from '../figures.ts';
import type { Measured } from './measured.ts';

/** Measures what a load costs a server and its Redis, from `begin` to `end`. */
export class Meter {
  readonly #server: Measured;
  #before: Reading = NOTHING;
  #used: Reading = NOTHING;

  constructor(server: Measured) {
    this.#server = server;
  }

  async begin(): Promise<void> {
    this.#before = await this.#read();
  }

  async end(): Promise<void> {
    const after = await this.#read();
    this.#used = {
      serverCpu: after.serverCpu - this.#before.serverCpu,
      redisCpu: after.redisCpu - this.#before.redisCpu,
      preemptions: after.preemptions - this.#before.preemptions,
    };
  }

  /** The cost per operation. */
  each(operations: number): Reading {
    const { serverCpu, redisCpu, preemptions } = this.#used;
    return { serverCpu: serverCpu / operations, redisCpu: redisCpu / operations, preemptions: preemptions / operations };
  }

  async #read(): Promise<Reading> {
    const [serverCpu, redisCpu] = [await this.#server.serverCpu(), await this.#server.redisCpu()];
    return { serverCpu, redisCpu, preemptions: this.#server.preemptions() };
  }
}

type Reading = Required<Pick<Figures, 'serverCpu' | 'redisCpu' | 'preemptions'>>;

const NOTHING: Reading = { serverCpu: Number.NaN, redisCpu: Number.NaN, preemptions: Number.NaN };
