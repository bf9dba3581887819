import type { SessionStore } from '@bowline/sessions'
import { systemClock } from '@bowline/llm'
import {
  boolean,
  func,
  json,
  list,
  made,
  ms,
  names,
  needed,
  number,
  oneOf,
  options,
  orNull,
  someText,
  text,
  whole,
} from '../../../scripts/argument-table.ts'
import type { ShapedRow, ValueShape } from '../../../scripts/argument-table.ts'

const clock = made(systemClock)
const lifeTime: ValueShape = { good: 'never', accepts: (value) => value === 'never' || ms(1).accepts(value) }
const none = (call: () => unknown): ShapedRow => ({ args: [], call })

/** All stores have the same checks. */
export function storeRows(stores: readonly SessionStore[]): Readonly<Record<string, ShapedRow>> {
  return Object.assign({}, ...stores.map((store) => rowsOfStore(store))) as Readonly<Record<string, ShapedRow>>
}

function rowsOfStore(store: SessionStore): Readonly<Record<string, ShapedRow>> {
  const { state } = store
  const anyKey = ['key', someText('room:1')] as const
  const runId = ['runId', someText()] as const
  const count = needed(whole(0, 1))
  const limit = ['limit', whole(0, 1)] as const
  const paged = { limit: whole(0, 10), page: { ...someText(), good: undefined } }
  const status = list(['queued'], (item) => item === 'queued')
  const place = [
    ['space', someText('space')],
    ['id', someText('id')],
  ] as const
  const life = options({ ttlMs: needed(lifeTime) }, false)
  const batch: ValueShape = { good: { id: 'b', key: 'room:7', expect: [], writes: [] }, accepts: () => false }
  const query = (fields: Parameters<typeof options>[0], mayBeAbsent = true) =>
    ['query', options({ ...paged, ...fields }, mayBeAbsent)] as const
  const rows: Readonly<Record<string, ShapedRow>> = {
    open: {
      args: [
        [
          '',
          options(
            {
              namespace: needed({ good: 'n', accepts: (value) => typeof value === 'string' && /^[a-z0-9][a-z0-9_-]{0,62}$/.test(value) }),
              clock: needed(clock),
              owner: needed(someText('o')),
            },
            false,
          ),
        ],
      ],
      call: (given) => store.open(given),
    },
    close: none(() => undefined),
    ...('second' in store ? { second: none(() => undefined) } : {}),
    commit: { args: [['batch', batch]], call: (given) => store.commit(given) },
    claim: {
      args: [
        [
          'request',
          options(
            { owner: needed(someText('o')), max: count, leaseMs: count, agents: needed(names), holds: needed(names), runId: someText() },
            false,
          ),
        ],
      ],
      call: (given) => store.claim(given),
    },
    renew: {
      args: [
        ['leases', list([{ runId: 'r', epoch: 1 }], () => false)],
        ['leaseMs', whole(0, 1)],
      ],
      call: (leases, leaseMs) => store.renew(leases, leaseMs),
    },
    readSession: { args: [anyKey], call: (key) => store.readSession(key) },
    readPath: {
      args: [
        anyKey,
        ['', options({ leaf: orNull({ ...someText(), good: null }), before: { ...someText(), good: undefined }, limit: whole(0, 1) })],
      ],
      call: (key, given) => store.readPath(key, given),
    },
    readEvents: {
      args: [anyKey, ['after', { good: 0, accepts: (value) => Number.isSafeInteger(value) }], limit],
      call: (key, after, most) => store.readEvents(key, after, most),
    },
    readRun: { args: [runId], call: (id) => store.readRun(id) },
    readCalls: {
      args: [runId, ['step', { good: 1, accepts: (value) => value === undefined || whole(0).accepts(value) }]],
      call: (id, step) => store.readCalls(id, step),
    },
    readCall: { args: [anyKey, ['toolCallId', text]], call: (key, id) => store.readCall(key, id) },
    readApproval: { args: [['approvalId', text]], call: (id) => store.readApproval(id) },
    readInbox: { args: [anyKey, ['kinds', names]], call: (key, kinds) => store.readInbox(key, kinds) },
    readDefinition: { args: [['hash', text]], call: (hash) => store.readDefinition(hash) },
    listSessions: {
      args: [
        query(
          {
            agent: someText(),
            status: orNull(list(['queued'], (item) => item === 'queued')),
            expired: boolean,
            keyPrefix: text,
            parent: orNull(someText()),
            activeSince: number(0),
          },
          false,
        ),
      ],
      call: (given) => store.listSessions(given),
    },
    listRuns: { args: [anyKey, query({ status, newestFirst: boolean })], call: (key, given) => store.listRuns(key, given) },
    listChildren: {
      args: [
        query(
          {
            parent: needed({
              good: { runId: 'r' },
              accepts: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
            }),
            status: list(['queued'], (item) => typeof item === 'string' && item !== ''),
          },
          false,
        ),
      ],
      call: (given) => store.listChildren(given),
    },
    listBranches: { args: [anyKey, query({})], call: (key, given) => store.listBranches(key, given) },
    listTimers: { args: [query({ kind: needed(someText('deadline')), key: someText() }, false)], call: (given) => store.listTimers(given) },
    listClaimable: { args: [query({})], call: (given) => store.listClaimable(given) },
    due: { args: [limit], call: (most) => store.due(most) },
    prune: {
      args: [
        [
          'rules',
          options(
            { runsEndedBefore: needed({ good: 1, accepts: Number.isFinite }), noticesQueuedBefore: { good: 1, accepts: Number.isFinite } },
            false,
          ),
        ],
        limit,
      ],
      call: (rules, most) => store.prune(rules, most),
    },
    claimNotices: {
      args: [
        [
          'request',
          options({ max: needed(count), leaseMs: needed(count), hooks: needed(names), receiver: someText(), except: names }, false),
        ],
      ],
      call: (request) => store.claimNotices(request),
    },
    settleNotice: {
      args: [
        ['notice', { good: { session: 'room:1', id: 'n.1', attempts: 1 }, accepts: () => false }],
        ['outcome', { good: { state: 'delivered' }, accepts: () => false }],
      ],
      call: (notice, outcome) => store.settleNotice(notice, outcome),
    },
    listNotices: {
      args: [query({ key: someText(), state: oneOf('pending', 'delivered', 'failed'), hook: someText() }, false)],
      call: (given) => store.listNotices(given),
    },
    resendNotice: { args: [anyKey, ['id', someText()]], call: (key, id) => store.resendNotice(key, id) },
    subscribe: { args: [['listener', func()]], call: (listener) => store.subscribe(listener) },
    'state.get': { args: place, call: (space, id) => state.get(space, id) },
    'state.compareAndSet': {
      args: [
        ...place,
        ['expected', { good: null, accepts: (value) => value === null || whole(0).accepts(value) }],
        ['value', json],
        ['compareAndSet.options', life],
      ],
      call: (space, id, expected, value, given) => state.compareAndSet(space, id, expected, value, given),
    },
    'state.touch': { args: [...place, ['ttlMs', lifeTime]], call: (space, id, ttlMs) => state.touch(space, id, ttlMs) },
    'state.delete': {
      args: [...place, ['expected', { good: 1, accepts: (value) => value === undefined || whole(0).accepts(value) }]],
      call: (space, id, expected) => state.delete(space, id, expected),
    },
    'state.list': {
      args: [['space', someText('space')], query({ prefix: text }, false)],
      call: (space, given) => state.list(space, given),
    },
    'state.sweep': { args: [limit], call: (most) => state.sweep(most) },
    'state.close': none(() => undefined),
  }
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [`${store.name}Store().${name}`, row]))
}
