import { needed, type ArgumentCheck, type FieldChecks } from '@bowline/llm/arguments'
import { configChecks, inputChecks, sessionsMark } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import { checkNamespace } from '../keys.ts'
import type { Batch, Delivery } from './batch.ts'
import { noticeQueryFields, runQueryFields, sessionQueryFields } from './check-query.ts'
import { checkSearchable, checkTimeToLive } from './check-state.ts'
import type { NoticeClaimRequest, NoticeQuery } from './notices.ts'
import type { PageRequest } from './paging.ts'
import type {
  ChildQuery,
  ClaimRequest,
  PathOptions,
  PruneRules,
  RunQuery,
  SessionQuery,
  SessionStore,
  StoreOpenOptions,
  TimerQuery,
} from './session-store.ts'
import type { StateQuery, StateStore, TimeToLive, WriteOptions } from './state-store.ts'

const {
  checkBoolean,
  checkItems,
  checkName,
  checkRequired,
  checkText,
  listOf,
  optionalName,
  optionalRecord,
  record,
  required,
  requiredFunction,
  requiredList,
  whole,
} = inputChecks

/** Arguments of each method in order: name and check. */
type Checks<Target> = { readonly [Name in keyof Target]?: readonly (readonly [name: string, check: ArgumentCheck])[] }

/** No upper limit: stores clamp it. */
const page: FieldChecks<PageRequest> = { limit: whole(0), page: optionalName }
const count = required(whole(0))
const position: ArgumentCheck = (path, value) => checkRequired(path, value, 'a whole number', Number.isSafeInteger)
const anObject: ArgumentCheck = (path, value) => inputChecks.checkKeys(path, value, Object.keys(value ?? {}))
const nullOr =
  (check: ArgumentCheck): ArgumentCheck =>
  (path, value) => {
    if (value !== null) check(path, value)
  }

/** Checks the form only. The store accepts or refuses the content. */
const batch: ArgumentCheck = (path, value) => {
  anObject(path, value)
  const { id, key, expect, writes, deliver } = value as Batch
  checkName(`${path}.id`, id)
  checkName(`${path}.key`, key)
  requiredList(anObject)(`${path}.expect`, expect)
  requiredList(anObject)(`${path}.writes`, writes)
  checkItems(`${path}.deliver`, deliver, (place, delivery) => {
    anObject(place, delivery)
    const { to, writes: delivered } = delivery as Delivery
    checkName(`${place}.to`, to)
    requiredList(anObject)(`${place}.writes`, delivered)
  })
}

const openOptions = configChecks.record<StoreOpenOptions>({
  namespace: (_path, value) => checkNamespace(value as string),
  clock: configChecks.requiredMethods('now', 'setTimer'),
  owner: configChecks.checkName,
  placement: configChecks.oneOf('own', 'host'),
})

const key = ['key', checkName] as const
const runId = ['runId', checkName] as const
const limit = ['limit', count] as const

const claimRequest = record<ClaimRequest>({
  owner: checkName,
  max: count,
  leaseMs: count,
  agents: requiredList(checkName),
  holds: requiredList(checkName),
  runId: optionalName,
  keys: listOf(checkName),
  others: checkBoolean,
  lostAt: whole(0),
  maxRunsPerTenant: whole(1),
})

const aTime: ArgumentCheck = (path, value) => checkRequired(path, value, 'a number', Number.isFinite)

const claimedNotice: ArgumentCheck = (path, value) => {
  anObject(path, value)
  const { session, id: noticeId, attempts } = value as { readonly session?: unknown; readonly id?: unknown; readonly attempts?: unknown }
  checkName(`${path}.session`, session)
  checkName(`${path}.id`, noticeId)
  count(`${path}.attempts`, attempts)
}

const noticeOutcome: ArgumentCheck = (path, value) => {
  anObject(path, value)
  const { state, error, dueInMs } = value as { readonly state?: unknown; readonly error?: unknown; readonly dueInMs?: unknown }
  inputChecks.checkOneOf(`${path}.state`, needed(state), ['delivered', 'failed', 'pending'])
  checkText(`${path}.error`, error)
  if (state === 'pending') count(`${path}.dueInMs`, dueInMs)
}

const ofSessions: Checks<SessionStore> = {
  open: [['open.options', openOptions]],
  commit: [['batch', batch]],
  claim: [['request', claimRequest]],
  renew: [
    ['leases', requiredList(record({ runId: checkName, epoch: count }))],
    ['leaseMs', count],
  ],
  readSession: [key],
  readPath: [key, ['readPath.options', optionalRecord<PathOptions>({ leaf: nullOr(optionalName), before: optionalName, limit: whole(0) })]],
  readEvents: [key, ['after', position], limit],
  readRun: [runId],
  readCalls: [runId, ['step', whole(0)]],
  readCall: [key, ['toolCallId', required(checkText)]],
  readApproval: [['approvalId', required(checkText)]],
  readInbox: [key, ['kinds', requiredList(checkName)]],
  readDefinition: [['hash', required(checkText)]],
  listSessions: [['query', record<SessionQuery>({ ...sessionQueryFields, ...page })]],
  listRuns: [key, ['query', optionalRecord<RunQuery>({ ...runQueryFields, ...page })]],
  listChildren: [['query', record<ChildQuery>({ ...page, parent: required(anObject), status: listOf(checkName) })]],
  listBranches: [key, ['query', optionalRecord<PageRequest>(page)]],
  listTimers: [['query', record<TimerQuery>({ ...page, kind: checkName, key: optionalName })]],
  due: [limit],
  listClaimable: [['query', optionalRecord<PageRequest>(page)]],
  prune: [['rules', record<PruneRules>({ runsEndedBefore: aTime, noticesQueuedBefore: inputChecks.optional(aTime) })], limit],
  claimNotices: [
    [
      'request',
      record<NoticeClaimRequest>({
        max: count,
        leaseMs: count,
        hooks: requiredList(checkName),
        receiver: optionalName,
        except: listOf(checkName),
      }),
    ],
  ],
  settleNotice: [
    ['notice', claimedNotice],
    ['outcome', noticeOutcome],
  ],
  listNotices: [['query', record<NoticeQuery>({ ...noticeQueryFields, ...page })]],
  resendNotice: [key, ['id', checkName]],
  subscribe: [['listener', requiredFunction]],
}

const checkedLater: ArgumentCheck = () => undefined
const space = ['space', checkedLater] as const
const id = ['id', checkedLater] as const

/** Space and id are checked by `checkPlace`, the value by the code that writes it. */
const ofStates: Checks<StateStore> = {
  compareAndSet: [
    space,
    id,
    ['expected', nullOr(count)],
    ['value', checkedLater],
    [
      'compareAndSet.options',
      record<WriteOptions>({ ttlMs: (path, value) => checkTimeToLive(value as TimeToLive, path), searchable: checkSearchable }),
    ],
  ],
  delete: [space, id, ['expected', whole(0)]],
  list: [space, ['query', record<StateQuery>({ ...page, prefix: checkText })]],
  sweep: [limit],
}

/** Refuses calls with wrong arguments before the store sees them. */
export function checkedSessionStore<Store extends SessionStore>(store: Store): Store {
  return checkedCalls(store, ofSessions as Checks<Store>)
}

/** Refuses calls with wrong arguments before the state store sees them. */
export function checkedStateStore(store: StateStore): StateStore {
  return checkedCalls(store, ofStates)
}

function checkedCalls<Target extends object>(target: Target, checks: Checks<Target>): Target {
  const checked = Object.entries(checks as Record<string, readonly (readonly [string, ArgumentCheck])[]>).map(([name, expected]) => {
    const method = Reflect.get(target, name) as (...given: readonly unknown[]) => unknown
    const call = (...given: readonly unknown[]): unknown => {
      try {
        for (let place = 0; place < expected.length; place++) expected[place]?.[1](expected[place]?.[0] ?? '', given[place])
      } catch (error) {
        if (name === 'subscribe' || !SessionError.isInstance(error)) throw error
        return Promise.reject(error)
      }
      return method(...given)
    }
    return [name, call]
  })
  return { ...target, ...(Object.fromEntries(checked) as Partial<Target>), ...sessionsMark }
}

/** Returns a state store that passes its calls to another one. `current` throws until that is open, or opens it. */
export function forwardedState(current: () => StateStore | Promise<StateStore>): StateStore {
  return checkedStateStore({
    get: async (...given) => (await current()).get(...given),
    compareAndSet: async (...given) => (await current()).compareAndSet(...given),
    touch: async (...given) => (await current()).touch(...given),
    delete: async (...given) => (await current()).delete(...given),
    list: async (...given) => (await current()).list(...given),
    sweep: async (...given) => (await current()).sweep(...given),
    close: async () => undefined,
  })
}
