// Writes the calls of the Python client: coinop/calls.py.
import { snake } from '../model.mjs';

const KEYWORDS = new Set(
  'and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False'.split(
    ' ',
  ),
);

export const file = 'coinop/calls.py';

export function generated({ version, calls, types }) {
  const features = [...new Set(calls.map(({ feature }) => feature))];
  return `"""The calls of the API and their types, made from the OpenAPI document by \`npm run build:clients\`."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, List, Literal, Optional, TypedDict, Union, cast

from ._time import Signal

API_VERSION = ${text(version)}

Caller = Callable[..., Awaitable[Dict[str, Any]]]
PlainCaller = Callable[..., Dict[str, Any]]

ROUTES = {
${calls.map(({ name, route }) => `    ${text(name)}: ${text(route)},`).join('\n')}
}

${types.map(declaration).join('\n\n')}


class Failure(TypedDict, total=False):
    """A failed call. \`pending\`: the operation waits, and will be finished. \`status\`: of the answer, if the service has answered."""

    ok: Literal[False]
    error: ErrorDetails
    status: int
    pending: bool
    requestId: str


def _given(fields: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


${form('', true)}


${form('Plain', false)}
`;

  /** The classes of one form: calls of asyncio, or plain ones that wait. */
  function form(prefix, isAsync) {
    const of = (feature) => calls.filter((call) => call.feature === feature && !call.isPart);
    const classes = features.map((feature) => featureClass(prefix, feature, of(feature), isAsync));
    // A part of each client makes the other calls of saves.
    const named = features
      .filter((feature) => feature !== 'saves')
      .map((feature) => `        self.${snake(feature)} = ${prefix}${classOf(feature)}(call)`);
    return `${classes.join('\n\n')}


class ${prefix}Calls:
    """Every call, by feature."""

    def __init__(self, call: ${prefix}Caller) -> None:
${named.join('\n')}`;
  }
}

const text = (value) => JSON.stringify(value);
const argument = (name) => (KEYWORDS.has(snake(name)) ? `${snake(name)}_` : snake(name));
const classOf = (feature) => `${feature[0].toUpperCase()}${feature.slice(1)}Calls`;

const plain = { any: 'Any', text: 'str', whole: 'int', number: 'float', flag: 'bool', true: 'Literal[True]' };
function typeName(type) {
  const name =
    type.kind === 'named'
      ? type.name
      : type.kind === 'list'
        ? `List[${typeName(type.of)}]`
        : type.kind === 'map'
          ? `Dict[str, ${typeName(type.of)}]`
          : plain[type.kind];
  return type.nullable && name !== 'Any' ? `Optional[${name}]` : name;
}

function declaration({ name, words, fields, description }) {
  // One that the service adds later is none of these words, but must not break a game.
  if (words)
    return `${name} = Union[Literal[${words.map(text).join(', ')}], str]`.replace(/^(\w+) = Union\[(Literal\[.*\]), str\]$/, `$1 = $2`);
  if (fields.some((field) => KEYWORDS.has(field.name) || !/^\w+$/.test(field.name))) return `${name} = Dict[str, Any]`;
  const lines = (of) => of.map((field) => `    ${field.name}: ${typeName(field.type)}`);
  const [needed, optional] = [fields.filter(({ required }) => required), fields.filter(({ required }) => !required)];
  const about = description
    ? [`    """${description.split('\n')[0].replaceAll('\\', '\\\\').replaceAll('"""', "'''").slice(0, 120)}"""`, '']
    : [];
  // Python 3.9 has neither Required nor NotRequired.
  const parts = [];
  if (needed.length > 0 && optional.length > 0)
    parts.push(
      `class _${name}(TypedDict):`,
      ...lines(needed),
      '',
      '',
      `class ${name}(_${name}, total=False):`,
      ...about,
      ...lines(optional),
    );
  else
    parts.push(
      `class ${name}(TypedDict${needed.length > 0 ? '' : ', total=False'}):`,
      ...about,
      ...(fields.length > 0 ? lines(fields) : ['    pass']),
    );
  return `\n${parts.join('\n')}`;
}

function featureClass(prefix, feature, calls, isAsync) {
  return `
class ${prefix}${classOf(feature)}:
    def __init__(self, call: ${prefix}Caller) -> None:
        self._call = call

${calls.map((call) => method(call, isAsync)).join('\n\n')}`;
}

function method({ name, call, fields, reply, summary }, isAsync) {
  const needed = fields.filter(({ required }) => required);
  const optional = fields.filter(({ required }) => !required);
  const given = [
    'self',
    '*',
    ...needed.map((field) => `${argument(field.name)}: ${typeName(field.type)}`),
    ...optional.map((field) => `${argument(field.name)}: Optional[${typeName({ ...field.type, nullable: false })}] = None`),
    'timeout_ms: Optional[float] = None',
    'signal: Optional[Signal] = None',
  ];
  const pairs = (of) => of.map((field) => `${text(field.name)}: ${argument(field.name)}`);
  const rest = optional.length > 0 ? [`**_given({${pairs(optional).join(', ')}})`] : [];
  const result = `Union[${reply}, Failure]`;
  return `    ${isAsync ? 'async def' : 'def'} ${argument(call)}(
        ${given.join(',\n        ')},
    ) -> ${result}:
        """${summary}"""
        given: Dict[str, Any] = {${[...pairs(needed), ...rest].join(', ')}}
        return cast("${result}", ${isAsync ? 'await ' : ''}self._call(${text(name)}, given, timeout_ms, signal))`;
}
