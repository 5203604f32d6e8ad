// Writes the calls of the client in GDScript: addons/coinop/calls.gd.
import { snake } from '../model.mjs';

const KEYWORDS = new Set(
  'and as assert await break breakpoint class class_name const continue elif else enum extends for func if in is match not or pass preload return self signal static super var void when while yield'.split(
    ' ',
  ),
);

export const file = 'addons/coinop/calls.gd';

export function generated({ version, calls, types }) {
  const features = [...new Set(calls.map(({ feature }) => feature))];
  const named = new Map(types.map((type) => [type.name, type]));
  // A part of the client makes the other calls of saves.
  const own = features.filter((feature) => feature !== 'saves');
  return `## Every call of the API, by feature. Made from the OpenAPI document by \`npm run build:clients\`.
##
## A call takes the fields that it needs, and the others in a dictionary: \`credit(5, {key = "level-3"})\`. There \`timeout_ms\` is the most
## milliseconds of the call with its repetitions, and \`abort\` a [CoinopAbort]. Every call gives a dictionary: of a success \`ok\` is true, and it
## has the fields that are named here; of a failure \`ok\` is false, and \`error\` has a \`code\`.
extends Node

const API_VERSION := ${text(version)}

const ROUTES := {
${calls.map(({ name, route }) => `\t${text(name)}: ${text(route)},`).join('\n')}
}

${own.map((feature) => `var ${snake(feature)}: ${pascal(feature)} = null`).join('\n')}


func _init(call: Callable) -> void:
${own.map((feature) => `\t${snake(feature)} = ${pascal(feature)}.new(call)`).join('\n')}


class Feature:
	extends RefCounted
	var _call := Callable()

	func _init(call: Callable) -> void:
		_call = call
${features
  .map((feature) =>
    featureClass(
      feature,
      calls.filter((call) => call.feature === feature && !call.isPart),
    ),
  )
  .join('')}`;

  function featureClass(feature, of) {
    return `

class ${pascal(feature)}:
	extends Feature
${of.map(method).join('')}`;
  }

  function method({ name, call, fields, reply, summary }) {
    const needed = fields.filter(({ required }) => required);
    const optional = fields.filter(({ required }) => !required);
    const given = [...needed.map((field) => `${argument(field.name)}: ${typeName(field.type)}`), 'more := {}'];
    const answered = (named.get(reply)?.fields ?? []).filter((field) => field.name !== 'ok');
    const lines = [
      summary,
      ...(optional.length > 0 ? [`More: ${optional.map(described).join(', ')}.`] : []),
      ...(answered.length > 0 ? [`Gives ${answered.map(described).join(', ')}.`] : []),
    ];
    return `
${lines.map((line) => `\t## ${line}`).join('\n')}
	func ${argument(call)}(${given.join(', ')}) -> Dictionary:
		return await _call.call(${text(name)}, {${needed.map((field) => `${text(field.name)}: ${argument(field.name)}`).join(', ')}}, more)
`;
  }

  function described({ name, type }) {
    const words = named.get(type.name)?.words;
    return `\`${name}\` ${words ? words.map(text).join(' or ') : typeName(type)}`;
  }

  function typeName(type) {
    if (type.nullable) return 'Variant';
    if (type.kind === 'named') return named.get(type.name)?.words ? 'String' : 'Dictionary';
    return plain[type.kind];
  }
}

const plain = {
  any: 'Variant',
  text: 'String',
  whole: 'int',
  number: 'float',
  flag: 'bool',
  true: 'bool',
  list: 'Array',
  map: 'Dictionary',
};
const text = (value) => JSON.stringify(value);
const pascal = (name) => `${name[0].toUpperCase()}${name.slice(1)}`;
const argument = (name) => (KEYWORDS.has(snake(name)) ? `${snake(name)}_` : snake(name));
