import type { Redis } from 'ioredis';
import type { NodeAddress, NodeOptions } from '../redis/shard.ts';
import { ClusterNodes, openNode, type NodeReader } from './cluster-nodes.ts';
import { ClusterReader } from './cluster-reader.ts';
import { ClusterScan, type ScannedCluster } from './cluster-scan.ts';
import { Reader } from './reader.ts';
import type { AuditReader, KeyVisitor } from './scan.ts';

/** The connections on which an audit reads: one connection to one Redis, or one to each primary of a Cluster. */
export interface AuditConnection {
  readonly reader: AuditReader;
  /** Reads all keys of a Cluster. If undefined, the audit scans the single Redis of the reader. */
  readonly scan: ((visitor: KeyVisitor) => Promise<void>) | undefined;
  opened(): Promise<void>;
  disconnect(): void;
}

/**
 * Makes the connection of an audit to one Redis.
 * @param share the part of the time in which Redis may work for the audit, above 0, at most 1
 */
export function readRedis(redis: Redis, share: number): AuditConnection {
  const reader = new Reader(redis, share);
  return { reader, scan: undefined, opened: () => reader.opened(), disconnect: () => reader.disconnect() };
}

/**
 * Makes the connections of an audit to a Cluster.
 * @param share the part of the time in which each primary may work for the audit, above 0, at most 1
 * @param open for tests: makes the connection to a node
 */
export function readCluster(
  cluster: ScannedCluster,
  options: NodeOptions,
  share: number,
  open: (address: NodeAddress) => NodeReader = (address) => openNode(address, options, share),
): AuditConnection {
  const nodes = new ClusterNodes(open);
  const reader = new ClusterReader(cluster, nodes);
  return {
    reader,
    scan: (visitor) => new ClusterScan(cluster, nodes, reader, visitor).run(),
    // Each connection to a node is opened when the audit first needs the node.
    opened: async () => {},
    disconnect: () => nodes.disconnect(),
  };
}
