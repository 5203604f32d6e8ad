import { defineScript, type Library } from '../../../redis/script.ts';

/** Defines a script that changes the record of a purchase, or a kept notification of a purchase. */
export function purchaseScript<const Argument extends string, const Word extends string>(
  file: URL,
  args: readonly Argument[],
  answers: readonly Word[],
  more: { readonly prelude?: Library; readonly durable?: false } = {},
) {
  return defineScript({ file, keys: ['purchase'], args, answers, durable: true, ...more });
}
