import { randomBytes } from 'node:crypto';
import { inParallel, sum, times } from './client.ts';
import { differences, Differs, Person, type World } from './people.ts';
import { acts, hasAll, listed } from './person-acts.ts';
import { anyOf, type Place } from './place.ts';
import type { Stand } from './proof.ts';
import { AtPlace, type Load } from './scenario.ts';
import { races } from './sign-in-races.ts';

/** 20,000 acts are those of 300 people. Each person needs many, because most acts build on earlier ones. */
const ACTS_A_PERSON = 20_000 / 300;
const PROVIDERS = ['google', 'apple', 'acme'];

/** The most people who are in the middle of something. */
const AT_ONCE = 32;
const FEWEST_PEOPLE = AT_ONCE + 8;

/** Keys of an account that are sent again at the end. */
const REPLAYS = 10;

const weights = [...acts, ...races];
const WEIGHT = sum(weights.map(([, weight]) => weight));

/**
 * People with a sign-in at each of three providers, who sign in, link, merge, remove, delete, get coins, buy, play and bring guests, at random
 * and sometimes at once. A model says what each sign-in opens and what each account has.
 */
export class SignIns extends AtPlace implements Load {
  readonly #counts = new Map<string, number>();
  readonly #world: World;
  readonly #people: readonly Person[];
  readonly #count: number;

  /** @param count of acts at full size */
  constructor(stand: Stand, place: Place, count: number) {
    super(stand, place);
    this.#world = { client: place.client, history: stand.history, found: differences(), owners: new Map() };
    const prefix = randomBytes(4).toString('hex');
    this.#count = Math.ceil(count * stand.size);
    const people = Math.max(FEWEST_PEOPLE, this.#count / ACTS_A_PERSON);
    this.#people = times(people, (index) => new Person(this.#world, `${prefix}-${index}`, PROVIDERS));
  }

  get done(): number {
    return sum(this.#counts.values());
  }

  async run(isOver: () => boolean): Promise<void> {
    const idle = [...this.#people];
    await inParallel(
      Array.from({ length: this.#count }).keys(),
      async () => {
        if (isOver() || idle.length === 0) return;
        const [person] = idle.splice(Math.floor(Math.random() * idle.length), 1);
        await this.#act(person!);
        if (person!.isSound) idle.push(person!);
      },
      AT_ONCE,
    );
  }

  /** One act, of those that the person has something for. */
  async #act(person: Person): Promise<void> {
    for (;;) {
      let place = Math.random() * WEIGHT;
      const [name, , act] = weights.find(([, weight]) => (place -= weight) < 0)!;
      const other = anyOf(this.#people)!;
      if (other === person) continue;
      if ((await this.#sound(person, async () => act(person, other))) === false) continue;
      person.note({ act: name });
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
      return;
    }
  }

  /** Once a person differs from the model, the person does no more. */
  async #sound<T>(person: Person, act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Differs)) throw error;
      person.isSound = false;
      person.count(error.what, { about: error.message });
      return undefined;
    }
  }

  async compare(): Promise<Record<string, number>> {
    const { figures } = this.stand;
    for (const [name, ,] of weights) figures.report(`  ${name}`, this.#counts.get(name) ?? 0);
    const sound = this.#people.filter(({ isSound }) => isSound);
    await inParallel(sound, (person) => this.#sound(person, () => compareAccounts(person)), AT_ONCE);
    figures.report('accounts that the people have had', this.#world.owners.size);
    figures.report('  refusals', this.place.client.refused);
    return { ...this.#world.found, 'answers with 500': this.place.client.internalErrors };
  }
}

/** Compares what each sign-in opens, and the coins and keys of each account. */
async function compareAccounts(person: Person): Promise<void> {
  for (const identity of person.identities) if (identity.account !== undefined) await person.enter(identity);
  for (const account of person.accounts) {
    const bearer = await person.sessionOf(account);
    await listed(person, account, bearer);
    const { balanceCoins } = (await person.need('/v1/balance', undefined, bearer)).body;
    const about = { account: account.id, book: account.coins, balanceCoins };
    if (balanceCoins !== account.coins) person.count('balances that differ from the book', about);
    if ((await sumOf(person, bearer)) !== balanceCoins) person.count('histories whose sum is not the balance', about);
    for (const [key, coins] of [...account.keys].toSorted(() => Math.random() - 0.5).slice(0, REPLAYS)) {
      const { body } = await person.settle('/v1/coins/credit', { coins, key }, bearer);
      if (body.replayed !== true) person.count('keys that no longer replay', { account: account.id, key });
    }
    await hasAll(person, account);
  }
}

async function sumOf(person: Person, bearer: string): Promise<number> {
  let [total, cursor] = [0, ''];
  do {
    const { entries, nextCursor } = (await person.need(`/v1/coins/history?limit=100${cursor && `&cursor=${cursor}`}`, undefined, bearer))
      .body;
    total += sum(entries.map(({ coins }: { coins: number }) => coins));
    cursor = nextCursor ?? '';
  } while (cursor !== '');
  return total;
}
