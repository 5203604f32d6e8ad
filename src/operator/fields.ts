import { z } from 'zod';
import type { Operation } from './operation.ts';

/** The way in which people type a field, if it does not follow from the field's name and type. */
interface Typed {
  /** The placeholder in the tool's help. Default: the name. */
  readonly word?: string;
  /** The tool takes a duration such as 90d, under the name without the unit. */
  readonly unit?: 'Minutes' | 'Days';
  /** The flag of the tool. Default: the name without the unit. */
  readonly flag?: string;
  /** The label on the page. Default: the name. */
  readonly label?: string;
  /** The value that the page fills in before a person types. */
  readonly initial?: string;
  /** The field is a time, or a day of it (`span.ts`). */
  readonly isTime?: boolean;
  /** The page has buttons for times that are this many days ahead. */
  readonly daysAhead?: readonly number[];
}

declare module 'zod' {
  interface GlobalMeta {
    /** The documents leave it out. */
    typed?: Typed;
  }
}

/** A field of an operation's input, as people see it: a word or a flag of the tool, or an input of the page. */
export interface Field extends Typed {
  readonly name: string;
  readonly isRequired: boolean;
  readonly description: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'array' | 'object';
  readonly format?: 'date-time' | 'date';
  readonly choices?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly example?: unknown;
  readonly isFalseIfLeftOut: boolean;
}

interface Property extends Partial<Pick<Field, 'type' | 'description' | 'format' | 'minimum' | 'maximum' | 'maxLength' | 'example'>> {
  readonly enum?: readonly string[];
  readonly items?: { readonly enum?: readonly string[] };
  readonly default?: unknown;
  readonly typed?: Typed;
}

/** The names between the braces of a path. */
export function namesIn(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
}

export function fieldsOf({ input }: Pick<Operation, 'input'>): readonly Field[] {
  const { properties = {}, required = [] } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return Object.entries(properties as Record<string, Property>).map(([name, property]) => {
    const {
      type = 'string',
      description = '',
      format,
      items,
      enum: choices = items?.enum,
      minimum,
      maximum,
      maxLength,
      example,
    } = property;
    return {
      ...{ name, isRequired: required.includes(name), description, type, format, choices, minimum, maximum, maxLength, example },
      isFalseIfLeftOut: property.default === 'false',
      ...property.typed,
    };
  });
}
