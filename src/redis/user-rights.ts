import type { Redis } from 'ioredis';

/** The rights that the Redis user needs: for one Redis or a Cluster, with or without WAIT. */
export interface Rights {
  /** Commands with arguments, for example `HSET KEY f v`. The words KEY and CHANNEL stand for any key and any channel. */
  readonly commands: readonly string[];
  /** Commands that coinop can do without. Only for the list of rights: nobody checks whether the user may run them. */
  readonly optionalCommands: readonly string[];
  /** Sample names of keys, by the ACL pattern that allows them. The user must have the right to read and write each. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** Sample names of channels, by the ACL pattern that allows them. */
  readonly channels: Readonly<Record<string, readonly string[]>>;
}

/** The page of the documentation that lists the rights of the Redis user. */
export const RIGHTS_PAGE = 'docs/operating.md#the-redis-user';

/** Thrown when the Redis user lacks rights that coinop needs. */
export class MissingRights extends Error {
  /** The missing rights, in the notation of `ACL SETUSER`: `+info`, `~data:*`, `&0:*`. */
  readonly rules: readonly string[];

  constructor(rules: readonly string[], isWhole = true) {
    super(
      `the Redis user lacks ${rules.join(' ')}${isWhole ? '' : ', and perhaps more, which shows once it may run scripts'} (${RIGHTS_PAGE})`,
    );
    this.rules = rules;
  }
}

/**
 * The errors with which Redis refuses a command to its user, outside or inside a script. Redis 7.0 has no error code for a refusal inside a
 * script.
 */
export const LACKS_RIGHT = /^NOPERM\b|^ERR The user executing the script can't/;

/** The errors of a script in which Redis refused a command to its user. The script may have run other commands before. */
export const REFUSED_IN_SCRIPT = /^ERR The user executing the script can't|^NOPERM ACL failure in script/;

/**
 * Lua that asks Redis itself which rights the user lacks. `redis.acl_check_cmd` takes keys and channels into account, writes nothing, and
 * needs no administrator's right, unlike ACL DRYRUN. `acl_check_cmd` needs the right number of arguments: Redis 7 ignores a wrong number,
 * but Redis 8 throws.
 *
 * Redis may refuse because of the command or because of its key. So the script first checks the keys with EVAL, which this user may run,
 * and then checks the commands with a key that is allowed. If no key is allowed, the script runs the command, and the error text says
 * whether Redis refused the command or the key. The flag `no-writes` keeps the script from writing.
 */
const PROBE = `#!lua flags=no-writes
local needed = cjson.decode(ARGV[1])
local missing, key = {}, nil
local function may(words)
  local is_known, is_allowed = pcall(redis.acl_check_cmd, unpack(words))
  return is_known and is_allowed
end
local function is_command_refused(words)
  local reply = redis.pcall(unpack(words))
  local refusal = type(reply) == 'table' and reply.err or ''
  return string.find(refusal, "to run the '", 1, true) ~= nil or string.find(refusal, "can't run this command", 1, true) ~= nil
end
for _, sample in ipairs(needed.keys) do
  if may({'EVAL', '', '1', sample[2]}) then key = key or sample[2] else missing[#missing + 1] = '~' .. sample[1] end
end
local LISTENERS = {{'PUBLISH', '', ''}, {'SUBSCRIBE', ''}, {'SPUBLISH', '', ''}, {'SSUBSCRIBE', ''}}
local open_channel
for _, sample in ipairs(needed.channels) do
  for _, words in ipairs(LISTENERS) do
    words[2] = sample[2]
    if not open_channel and may(words) then open_channel = sample[2] end
  end
end
-- Tells whether the user may run a command that has a channel as the word at the index place. Redis 7 checks the command without its
-- arguments. Redis 8 needs the arguments, so the check uses a channel that the user may use. If there is no allowed channel, the script
-- runs PUBLISH and SPUBLISH and reads the error text. The script cannot run other commands on channels, so these count as allowed if the
-- user may run PUBLISH or SPUBLISH.
local function may_on_channels(words, place)
  local is_judged, is_allowed = pcall(redis.acl_check_cmd, unpack(words, 1, place - 1))
  if is_judged then return is_allowed end
  if open_channel then
    words[place] = open_channel
    return may(words)
  end
  local is_refused = {}
  for _, name in ipairs({'PUBLISH', 'SPUBLISH'}) do is_refused[name] = is_command_refused({name, needed.channels[1][2], ''}) end
  if is_refused[words[1]] ~= nil then return not is_refused[words[1]] end
  return not (is_refused.PUBLISH and is_refused.SPUBLISH)
end
-- The check of a channel needs a command that the user may run. It is the first allowed command of LISTENERS.
local listener
for _, words in ipairs(LISTENERS) do
  if not listener and may_on_channels(words, 2) then listener = words end
end
for _, sample in ipairs(needed.channels) do
  if listener then listener[2] = sample[2] end
  if listener and not may(listener) then missing[#missing + 1] = '&' .. sample[1] end
end
for _, command in ipairs(needed.commands) do
  local words, is_doubtful, channel_at = {}, false, nil
  for index, word in ipairs(command[2]) do
    if word == 'CHANNEL' then channel_at = index end
    if word == 'KEY' then
      is_doubtful = is_doubtful or not key
      word = key or needed.keys[1][2]
    end
    words[index] = word
  end
  local is_allowed
  if channel_at then is_allowed = may_on_channels(words, channel_at) else is_allowed = may(words) end
  if not is_allowed and not (is_doubtful and not is_command_refused(words)) then missing[#missing + 1] = '+' .. command[1] end
end
return missing`;

/**
 * Checks that the Redis user has all these rights.
 * @throws MissingRights with each missing right. Any other error: Redis did not answer the check
 */
export async function checkRights(redis: Redis, rights: Rights): Promise<void> {
  let missing: readonly string[];
  try {
    missing = (await redis.eval(PROBE, 0, neededBy(rights))) as string[];
  } catch (error) {
    if (!(error as Error).message.startsWith('NOPERM')) throw error;
    throw new MissingRights(await scriptRules(redis), false);
  }
  if (missing.length > 0) throw new MissingRights([...new Set(missing)]);
}

const texts = new WeakMap<Rights, string>();

function neededBy(rights: Rights): string {
  let text = texts.get(rights);
  if (text === undefined) {
    const samples = (of: Rights['keys']) => Object.entries(of).flatMap(([rule, names]) => names.map((name) => [rule, name]));
    const commands = rights.commands.map((command) => [ruleOf(command), command.split(' ')]);
    texts.set(rights, (text = JSON.stringify({ keys: samples(rights.keys), channels: samples(rights.channels), commands })));
  }
  return text;
}

const WITH_SUBCOMMANDS = new Set(['CLIENT', 'CLUSTER', 'CONFIG', 'PUBSUB']);

/** The name of a command in an ACL rule: `pubsub|numsub` for `PUBSUB NUMSUB CHANNEL`. */
export function ruleOf(command: string): string {
  const [name = '', next = ''] = command.toLowerCase().split(' ');
  return WITH_SUBCOMMANDS.has(name.toUpperCase()) ? `${name}|${next}` : name;
}

/** The rights to run scripts that are missing: `+eval`, which Redis has just refused, and perhaps `+evalsha`. */
async function scriptRules(redis: Redis): Promise<string[]> {
  const refused = await redis.evalsha('0'.repeat(40), 0).catch((error: Error) => error.message);
  return ['+eval', ...(String(refused).startsWith('NOPERM') ? ['+evalsha'] : [])];
}
