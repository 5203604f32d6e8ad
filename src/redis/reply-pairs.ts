/** Groups the values in an answer of Redis into pairs: field and value of a hash, or member and score of a sorted set. */
export function pairsOf(words: readonly string[]): [string, string][] {
  return Array.from({ length: words.length / 2 }, (_, index) => [words[2 * index]!, words[2 * index + 1]!]);
}
