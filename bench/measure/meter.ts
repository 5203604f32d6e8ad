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
      batches: after.batches - this.#before.batches,
    };
  }

  /** How the script calls of so many operations reached Redis. Empty for a server whose batches are not counted. */
  batching(operations: number, seconds: number): Pick<Figures, 'batchesPerPrimary' | 'requestsPerBatch'> {
    const { batches } = this.#used;
    if (Number.isNaN(batches)) return {};
    return { batchesPerPrimary: batches / this.#server.primaries.length / seconds, requestsPerBatch: operations / batches };
  }

  /** The cost per operation. */
  each(operations: number): Cost {
    const { serverCpu, redisCpu, preemptions } = this.#used;
    return { serverCpu: serverCpu / operations, redisCpu: redisCpu / operations, preemptions: preemptions / operations };
  }

  async #read(): Promise<Reading> {
    const [serverCpu, redisCpu] = [await this.#server.serverCpu(), await this.#server.redisCpu()];
    const batches = (await this.#server.batches?.()) ?? Number.NaN;
    return { serverCpu, redisCpu, preemptions: this.#server.preemptions(), batches };
  }
}

type Cost = Required<Pick<Figures, 'serverCpu' | 'redisCpu' | 'preemptions'>>;

type Reading = Cost & { readonly batches: number };

const NOTHING: Reading = { serverCpu: Number.NaN, redisCpu: Number.NaN, preemptions: Number.NaN, batches: Number.NaN };
