/**
 * The prefix of all channel names of a service: the number of its Redis database.
 *
 * Redis's Pub/Sub ignores databases: a message that is published in database 1 reaches a subscriber in database 0. Two services in two
 * databases of one Redis use the same names (`standings`, rooms with the same code). Only the prefix tells their channels apart. Scripts
 * and subscriptions add the prefix; no other code sees it. On a Cluster channels have no prefix, because a Cluster has only database 0, and
 * the channel's name decides its slot.
 * @param database 0 if the URL of the connection names no database
 */
export function channelPrefix(database = 0): string {
  return `${database}:`;
}

/**
 * Lua functions for scripts that use channels. The text has only the functions that the script's Lua calls:
 * - `publish(channel, message)`: publishes on a channel with the hash tag of the script's keys. Returns the number of processes that
 *   listen.
 * - `count_listeners(channel)`: the number of processes that listen on a channel with the hash tag of the script's keys.
 * - `announce(channel, message)`: publishes on a channel that all processes listen on.
 */
export function channelFunctions(lua: string, form: { cluster?: boolean; database?: number }): string {
  const isCluster = form.cluster === true;
  const channel = isCluster ? 'channel' : `'${channelPrefix(form.database)}' .. channel`;
  const functions = {
    publish: `(channel, message) return redis.call('${isCluster ? 'SPUBLISH' : 'PUBLISH'}', ${channel}, message) end`,
    count_listeners: `(channel) return redis.call('PUBSUB', '${isCluster ? 'SHARDNUMSUB' : 'NUMSUB'}', ${channel})[2] end`,
    announce: `(channel, message) return redis.call('PUBLISH', ${channel}, message) end`,
  };
  return Object.entries(functions)
    .filter(([name]) => new RegExp(`\\b${name}\\(`).test(lua))
    .map(([name, text]) => `local function ${name}${text}\n`)
    .join('');
}
