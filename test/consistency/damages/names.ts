/** Texts that a repeated class of characters may stand for. The number differs from kind to kind, so that the keys of kinds share no tag. */
const repeated = (number: number): string[] => [`k${number}`, String(100 + number)];

/** Makes texts that match a pattern of keys. It knows as much of regular expressions as those patterns use. */
export class Names {
  readonly #source: string;
  readonly #number: number;
  #at = 0;

  /** @param source of the pattern */
  constructor(source: string, number: number) {
    [this.#source, this.#number] = [source.replace(/^\^/, '').replace(/\$$/, ''), number];
  }

  /** One text for each choice that the pattern leaves by `|` and `?`. */
  get all(): string[] {
    this.#at = 0;
    const all = this.#alternatives();
    if (this.#at < this.#source.length) throw new Error(`cannot read ${this.#source} from ${this.#at} on`);
    return all;
  }

  #alternatives(): string[] {
    const all = this.#sequence();
    while (this.#take('|')) all.push(...this.#sequence());
    return all;
  }

  #sequence(): string[] {
    let all = [''];
    while (this.#at < this.#source.length && !/[|)]/.test(this.#source[this.#at]!)) {
      const items = this.#quantified();
      all = all.flatMap((begin) => items.map((item) => begin + item));
    }
    return all;
  }

  #quantified(): string[] {
    if (this.#take('(')) {
      this.#take('?:');
      const all = this.#alternatives();
      this.#take(')');
      return this.#take('?') ? ['', ...all] : all;
    }
    const [atom] = /^(?:\\.|\[(?:\\.|[^\]])*\]|.)/.exec(this.#source.slice(this.#at))!;
    this.#at += atom.length;
    const isMatch = (text: string): boolean => new RegExp(`^(?:${atom})+$`).test(text);
    const found = (texts: readonly string[]): string => texts.find(isMatch) ?? fail(`cannot make a text of ${atom}`);
    if (this.#take('+') || this.#take('*')) return [found(repeated(this.#number))];
    const [times, count = '1'] = /^\{(\d+)\}/.exec(this.#source.slice(this.#at)) ?? [''];
    this.#at += times.length;
    const one = /^[^\\[.]$/.test(atom) ? atom : found(['1', atom.slice(1)]);
    return [one.repeat(Number(count))];
  }

  #take(text: string): boolean {
    const isNext = this.#source.startsWith(text, this.#at);
    if (isNext) this.#at += text.length;
    return isNext;
  }
}

function fail(problem: string): never {
  throw new Error(problem);
}
