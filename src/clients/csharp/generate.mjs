// Writes the calls of the C# client: Runtime/Core/Calls.cs.

const KEYWORDS = new Set(
  'abstract as base bool break byte case catch char checked class const continue decimal default delegate do double else enum event explicit extern false finally fixed float for foreach goto if implicit in int interface internal is lock long namespace new null object operator out override params private protected public readonly ref return sbyte sealed short sizeof stackalloc static string struct switch this throw true try typeof uint ulong unchecked unsafe ushort using virtual void volatile while'.split(
    ' ',
  ),
);

export const file = 'Runtime/Core/Calls.cs';

export function generated({ version, calls, types }) {
  const replies = new Set(calls.map(({ reply }) => reply));
  const features = [...new Set(calls.map(({ feature }) => feature))];
  // Saves.cs, which is written by hand, has the calls that save and load. The client has it as a field already.
  const fields = features.filter((feature) => feature !== 'saves');
  return `// The calls of the API and their types, made from the OpenAPI document by \`npm run build:clients\`.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Coinop {
${types.map((type) => declaration(type, replies)).join('\n\n')}

${features.map((feature) => featureClass(feature, calls)).join('\n\n')}

    /// <summary>Every call, by feature.</summary>
    public abstract class Calls {
        public const string ApiVersion = ${text(version)};

        internal static readonly Dictionary<string, string> Routes = new Dictionary<string, string> {
${calls.map(({ name, route }) => `            { ${text(name)}, ${text(route)} },`).join('\n')}
        };

${fields.map((feature) => `        public readonly ${classOf(feature)} ${pascal(feature)};`).join('\n')}

        protected Calls() {
${fields.map((feature) => `            ${pascal(feature)} = new ${classOf(feature)}(this);`).join('\n')}
        }

        internal abstract Task<T> Call<T>(string name, Json given, CallOptions options, Func<Json, T> reply);
    }
}
`;
}

const text = (value) => JSON.stringify(value);
/** A name as C# writes it. */
export const pascal = (name) => name.replace(/(^|[^a-zA-Z0-9]+)([a-zA-Z0-9])/g, (_, __, letter) => letter.toUpperCase());
const argument = (name) => (KEYWORDS.has(name) ? `@${name}` : name);
const classOf = (feature) => `${pascal(feature)}Calls`;

/** The first line of a text as the comment of a member. */
const about = (description, indent) => {
  const line = (description ?? '').split('\n')[0].replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return line === '' ? [] : [`${indent}/// <summary>${line}</summary>`];
};

function declaration({ name, words, fields, description }, replies) {
  if (words) {
    // One that the service adds later is none of these words, but must not break a game. So they are texts, and no enum.
    const constants = words.map((word) => `        public const string ${/^\d/.test(word) ? '_' : ''}${pascal(word)} = ${text(word)};`);
    return [`    public static class ${name} {`, ...constants, '    }'].join('\n');
  }
  const base = replies.has(name) ? 'Reply' : 'View';
  const members = fields.filter(({ type }) => type.kind !== 'true').flatMap((field) => member(name, field));
  const start = `        public ${name}(Json json) : base(json) { }`;
  return [...about(description, '    '), `    public sealed class ${name} : ${base} {`, start, ...members, '    }'].join('\n');
}

function member(owner, { name, type, required, description }) {
  const value = `Json[${text(name)}]`;
  const mayMiss = !required || type.nullable;
  const [typeName, reading] = read(type, value, mayMiss);
  // A member cannot have the name of its class.
  const own = pascal(name) === owner ? `${pascal(name)}Value` : pascal(name);
  return ['', ...about(description, '        '), `        public ${typeName} ${own} => ${reading};`];
}

/** The type of a value, and the expression that reads it from JSON. */
function read(type, value, mayMiss) {
  if (type.kind === 'named' && !type.isWords) return [type.name, `${mayMiss ? `${value}.IsNull ? null : ` : ''}new ${type.name}(${value})`];
  if (type.kind === 'list') {
    const [of, item] = read(type.of, 'item', false);
    return [`IReadOnlyList<${of}>`, `ListOf(${value}, item => ${item})`];
  }
  if (type.kind === 'whole' || type.kind === 'number') {
    const [name, property] = type.kind === 'whole' ? ['long', 'Long'] : ['double', 'Double'];
    return mayMiss ? [`${name}?`, `${value}.IsNull ? (${name}?)null : ${value}.${property}`] : [name, `${value}.${property}`];
  }
  if (type.kind === 'flag') return ['bool', `${value}.Bool`];
  if (type.kind === 'text' || type.kind === 'named') return ['string', `${value}.Text`];
  return ['Json', value];
}

function featureClass(feature, calls) {
  const of = calls.filter((call) => call.feature === feature && !call.isPart);
  // Saves of the client add their own calls to these.
  const kind = feature === 'saves' ? 'abstract' : 'sealed';
  return `    public ${kind} class ${classOf(feature)} {
        readonly Calls of;

        internal ${classOf(feature)}(Calls of) {
            this.of = of;
        }

${of.map(method).join('\n\n')}
    }`;
}

/** The type of a parameter, and the expression that makes JSON of it. */
function given(type, name, isOptional) {
  if (type.nullable) return ['Json', name];
  if (type.kind === 'list' && type.of.kind === 'text')
    return ['IEnumerable<string>', `Json.ListOf(new List<string>(${name}).ConvertAll(each => (Json)each))`];
  const struct = { whole: 'long', number: 'double', flag: 'bool' }[type.kind];
  if (struct) return isOptional ? [`${struct}?`, `${name}.Value`] : [struct, name];
  return [type.kind === 'text' || type.isWords ? 'string' : 'Json', name];
}

function method({ name, call, fields, reply, summary }) {
  const rows = fields.map((field) => {
    const own = argument(field.name);
    const [typeName, value] = given(field.type, own, !field.required);
    return { ...field, own, typeName, value };
  });
  const needed = rows.filter(({ required }) => required);
  const optional = rows.filter(({ required }) => !required);
  const parameters = [
    ...needed.map(({ typeName, own }) => `${typeName} ${own}`),
    ...optional.map(({ typeName, own }) => `${typeName} ${own} = null`),
    'CallOptions options = null',
  ];
  return [
    ...about(summary, '        '),
    `        public Task<${reply}> ${pascal(call)}(${parameters.join(', ')}) {`,
    '            var given_ = new Json();',
    ...needed.map(({ name: field, value }) => `            given_.Add(${text(field)}, ${value});`),
    ...optional.map(({ name: field, own, value }) => `            if (${own} != null) given_.Add(${text(field)}, ${value});`),
    `            return of.Call(${text(name)}, given_, options, json => new ${reply}(json));`,
    '        }',
  ].join('\n');
}
