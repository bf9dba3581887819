import type { Clock } from '@bowline/llm'
import { manualClock, type Step } from '@bowline/llm/testing'
import type { RunHandle, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import type { ClaimRequest, Lease } from '../../src/contract/session-store.ts'
import { aroundStore, type StoreOperation } from '../../../testing/src/around-store.ts'
import { setup, type SetupOptions } from '../support.ts'

/** Answers that never arrive. */
const never = (): Promise<Step> => new Promise<Step>(() => undefined)
export const answers: SetupOptions['steps'] = () => Promise.resolve({ text: 'done' })

/** Creates a runtime that is notified of its own commits only, and records its calls of the store. */
export async function worker({ deaf = false, ...options }: Partial<SetupOptions> & { readonly deaf?: boolean } = {}) {
  const clock = manualClock(1_000)
  const memory = memoryStore()
  await memory.open({ namespace: 'default', clock, owner: 'keeper' })
  const claims: ClaimRequest[] = []
  const renewals: { readonly leases: readonly Lease[]; readonly leaseMs: unknown; readonly at: number }[] = []
  const faults: unknown[] = []
  /** Work after the store has answered and before the runtime gets the answer. */
  const answered: Partial<Record<StoreOperation, () => unknown>> = {}
  const around = aroundStore(memory, async (operation, args, go) => {
    if (operation === 'claim') claims.push(args[0] as ClaimRequest)
    if (operation === 'renew') renewals.push({ leases: args[0] as readonly Lease[], leaseMs: args[1], at: clock.now() })
    const answer = await go()
    await answered[operation]?.()
    return answer
  })
  const store: SessionStore = deaf
    ? new Proxy(around, { get: (target, name) => (name === 'subscribe' ? () => () => undefined : (Reflect.get(target, name) as unknown)) })
    : around
  const onError = (error: unknown, where: unknown): void => void faults.push([error, where])
  const timers: { readonly afterMs: number; readonly hold: boolean }[] = []
  const watched: Clock = {
    now: () => clock.now(),
    setTimer(atMs, run, more) {
      timers.push({ afterMs: atMs - clock.now(), hold: more?.hold ?? false })
      return clock.setTimer(atMs, run, more)
    },
  }
  const beats = () => timers.filter(({ afterMs }) => afterMs === 3_000).length
  const { runtime, model } = setup({ steps: never, store, clock: watched, onError, ...options })
  const send = async (room: number): Promise<RunHandle> => {
    const run = await runtime.session(`room:${room}`).send('go')
    await clock.advance(0)
    return run
  }
  const statuses = (runs: readonly RunHandle[]) => Promise.all(runs.map((run) => run.status()))
  /** Stores work as another process that does not notify this one. */
  const left = async (room: number): Promise<void> => {
    const at = clock.now()
    const session = { id: `s${room}`, agent: 'assistant', metadata: {}, at }
    const run = { id: `left-${room}`, kind: 'user', inputHash: 'h', input: { role: 'user', content: 'go' }, at } as const
    await memory.commit({
      id: `left ${room}`,
      key: `room:${room}`,
      expect: [],
      writes: [
        { op: 'session.ensure', session },
        { op: 'run.insert', run },
      ],
    })
  }
  return { runtime, model, clock, memory, timers, beats, claims, renewals, faults, answered, send, statuses, left }
}
