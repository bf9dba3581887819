import type { SessionStore } from '../../../src/contract/session-store.ts'
import type { StoreOperation } from '../../../../testing/src/around-store.ts'
import { batchFacts, commitFacts, runFacts, storedEventFacts } from './batch-facts.ts'
import type { AnswerOf, CallOf, HistoryAnswer, HistoryCall, HistoryWhat } from './operations.ts'

type RecordedOperation = Extract<StoreOperation, HistoryWhat>

interface Facts<Name extends RecordedOperation> {
  readonly call: (...args: Parameters<SessionStore[Name]>) => Omit<CallOf<Name>, 'what'>
  readonly answer: (answer: Awaited<ReturnType<SessionStore[Name]>>) => AnswerOf<Name>
}

/** Recorded facts of each operation. Operations that do not read or change one session at one moment are not recorded. */
const recorded: { readonly [Name in RecordedOperation]: Facts<Name> } = {
  commit: { call: (batch) => ({ batch: batchFacts(batch) }), answer: commitFacts },
  claim: {
    call: ({ runId }) => (runId === undefined ? {} : { runId }),
    answer: (claims) => ({
      claims: claims.map(({ run, session, previous, inbox }) => ({
        key: session.key,
        runId: run.id,
        epoch: run.epoch,
        version: session.version,
        previous,
        inbox: inbox.map(({ id }) => id),
        ...(run.stop && { stop: true }),
      })),
    }),
  },
  renew: {
    call: (leases) => ({ leases: leases.map(({ runId, epoch }) => ({ runId, epoch })) }),
    answer: (states) => ({ states: states.map(({ runId, held, stopping }) => ({ runId, held, ...(stopping && { stop: true }) })) }),
  },
  prune: { call: () => ({}), answer: ({ runs, events }) => ({ changed: runs + events > 0 }) },
  readSession: {
    call: (key) => ({ key }),
    answer(read) {
      if (!('value' in read)) return { status: read.status }
      const { id, version, nextSeq, leaf } = read.value
      return { status: read.status, id, version, nextSeq, leaf }
    },
  },
  readRun: { call: (runId) => ({ runId }), answer: (read) => ({ run: read.status === 'found' ? runFacts(read.value) : null }) },
  listRuns: {
    call: (key, query) => ({ key, ...(query?.status && { status: query.status }), ...(query?.page !== undefined && { page: query.page }) }),
    answer: ({ items, next }) => ({ runs: items.map(runFacts), isWhole: next === undefined }),
  },
  readCalls: {
    call: (runId, step) => ({ runId, ...(step !== undefined && { step }) }),
    answer: (calls) => ({ calls: calls.map(({ step, toolCallId, state }) => ({ step, toolCallId, state })) }),
  },
  readInbox: { call: (key, kinds) => ({ key, kinds }), answer: (rows) => ({ ids: rows.map(({ id }) => id) }) },
  readPath: {
    call: (key, options) => ({
      key,
      ...(options?.leaf !== undefined && { leaf: options.leaf }),
      ...(options?.before !== undefined && { before: options.before }),
    }),
    answer: ({ items, next }) => ({ ids: items.map(({ id }) => id), isWhole: next === undefined }),
  },
  readEvents: {
    call: (key, after, limit) => ({ key, after, limit }),
    answer: ({ firstSeq, lastSeq, sessionId, events }) => ({
      firstSeq,
      lastSeq,
      events: events.map(storedEventFacts),
      ...(sessionId !== undefined && { sessionId }),
    }),
  },
}

function factsOf(operation: StoreOperation): Facts<RecordedOperation> | undefined {
  return operation in recorded ? (recorded[operation as RecordedOperation] as unknown as Facts<RecordedOperation>) : undefined
}

/** Returns undefined for operations that are not recorded. */
export function calledStore(operation: StoreOperation, args: readonly unknown[]): HistoryCall | undefined {
  const facts = factsOf(operation)
  return facts && ({ what: operation, ...facts.call(...(args as never)) } as HistoryCall)
}

export function answeredByStore(operation: StoreOperation, answer: unknown): HistoryAnswer {
  return factsOf(operation)?.answer(answer as never) as HistoryAnswer
}
