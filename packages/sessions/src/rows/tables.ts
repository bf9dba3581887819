import type { Table } from './contract.ts'

/** Order of the lists of sessions: by section, then newest activity first, then by key. */
const listed = ['section', '-activeAt', 'key'] as const

/**
 * Most indexes hold few rows however long the history is, since a row is in none of which a column is null. Columns that change often
 * are the last ones, next to the body. A table whose rows belong to sessions has an index that begins with the session.
 */
export const tables = {
  session: {
    id: ['key'],
    columns: [
      ...['agent', 'tenant', 'parent', 'section', 'activeAt', 'status', 'rareStatus', 'unused', 'expiresAt'],
      ...['startAt', 'notBefore', 'startTenant', 'unread', 'oldestEnd', 'revision'],
    ],
    indexes: {
      key: ['key'],
      list: listed,
      agent: ['agent', ...listed],
      status: ['rareStatus', ...listed],
      unused: ['unused', ...listed],
      parent: ['parent', ...listed],
      tenant: ['tenant', ...listed],
      tenantAgent: ['tenant', 'agent', ...listed],
      tenantStatus: ['tenant', 'rareStatus', ...listed],
      end: ['expiresAt', 'key'],
      start: ['startAt', 'key'],
      later: ['notBefore', 'key'],
      unread: ['unread', 'key'],
      oldest: ['oldestEnd', 'key'],
    },
  },
  tombstone: { id: ['key'], columns: [], indexes: {} },
  run: {
    id: ['id'],
    columns: ['session', 'n', 'parentRun', 'parentSession', 'inputId', 'createdAt', 'definition', 'status', 'rareStatus', 'place'],
    indexes: {
      n: ['session', 'n'],
      place: ['session', 'place'],
      status: ['session', 'rareStatus', 'n'],
      parentRun: ['parentRun', 'createdAt', 'id'],
      parentSession: ['parentSession', 'createdAt', 'id'],
      input: ['session', 'inputId'],
      definition: ['definition'],
    },
  },
  input: { id: ['run'], columns: ['session'], indexes: { session: ['session', 'run'] } },
  lease: {
    id: ['run'],
    columns: ['session', 'owner', 'epoch', 'until', 'claimedAt', 'retryAt', 'tenant', 'stop'],
    indexes: {
      until: ['until', 'run'],
      retry: ['retryAt', 'run'],
      owner: ['owner', 'run'],
      tenant: ['tenant', 'run'],
      session: ['session', 'run'],
    },
  },
  call: {
    id: ['run', 'step', 'toolCallId'],
    columns: ['session', 'index', 'turn', 'approvalId'],
    indexes: {
      step: ['run', 'step', 'toolCallId'],
      id: ['session', 'toolCallId', 'turn', 'step'],
      approval: ['approvalId'],
    },
  },
  entry: {
    id: ['session', 'id'],
    columns: ['n', 'parentId'],
    indexes: { id: ['session', 'id'] },
  },
  event: { id: ['session', 'seq'], columns: [], indexes: { seq: ['session', 'seq'] } },
  inbox: { id: ['session', 'id'], columns: ['n', 'kind', 'at'], indexes: { n: ['session', 'n'] } },
  timer: {
    id: ['session', 'id'],
    columns: ['kind', 'dueAt'],
    indexes: { due: ['dueAt', 'id', 'session'], list: ['kind', 'session', 'id'], session: ['session', 'id'] },
  },
  notice: {
    id: ['session', 'n'],
    columns: ['sessionId', 'hook', 'receiver', 'at', 'state', 'attempts', 'dueAt', 'line', 'settledAt', 'queuedAt'],
    indexes: {
      session: ['session', '-at', 'sessionId', '-n'],
      due: ['receiver', 'dueAt', 'session', 'n'],
      next: ['dueAt', 'session', 'n'],
      line: ['session', 'line', 'n'],
      settled: ['settledAt', 'session', 'n'],
      queued: ['queuedAt', 'session', 'n'],
      list: ['-at', 'sessionId', '-n'],
      hook: ['hook', '-at', 'sessionId', '-n'],
      state: ['state', '-at', 'sessionId', '-n'],
      hookState: ['hook', 'state', '-at', 'sessionId', '-n'],
      ofState: ['session', 'state', '-at', 'sessionId', '-n'],
    },
  },
  definition: { id: ['hash'], columns: ['usedAt'], indexes: { used: ['usedAt', 'hash'] } },
} as const satisfies Readonly<Record<string, Table>>

export type TableName = keyof typeof tables

/** Columns that hold numbers. */
export const numberColumns: ReadonlySet<string> = new Set([
  ...['revision', 'section', 'activeAt', 'unused', 'expiresAt', 'startAt', 'notBefore', 'unread', 'oldestEnd', 'n', 'place', 'createdAt'],
  ...['epoch', 'until', 'claimedAt', 'retryAt', 'step', 'index', 'turn', 'seq', 'at', 'dueAt', 'attempts'],
  ...['settledAt', 'queuedAt', 'usedAt'],
])
