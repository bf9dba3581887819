import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { OnWake, Session, SessionInfo, SessionStore, StartReport } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { type FaultPlan, faultyStore } from '@bowline/testing/crashes'
import { z } from 'zod'
import { gate, setup, type Setup, type SetupOptions } from '../support.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })

interface Start {
  readonly attempt: number
  readonly idempotencyKey: string
}

/** Creates a tool with an effect whose first start never ends. */
function payTool(starts: Start[], onStart: () => void) {
  return defineTool({
    name: 'pay',
    description: 'Pays.',
    inputSchema: z.object({}),
    effect: 'once',
    execute: (_input, { attempt, idempotencyKey }) => {
      starts.push({ attempt, idempotencyKey })
      return starts.length > 1 ? 'paid' : new Promise<string>(() => onStart())
    },
  })
}

const asks = {
  toolCalls: [
    { id: 'c-pay', name: 'pay', input: {} },
    { id: 'c-place', name: 'place', input: {} },
  ],
}

export interface Doubt extends Setup {
  readonly session: Session
  readonly starts: readonly Start[]
  /** Report of the start of the next owner, and the session at that moment. */
  readonly started: StartReport
  readonly atStart: SessionInfo | null
}

interface DoubtOptions {
  /** Faults in the store of the next owner. */
  readonly faults?: FaultPlan
  readonly onWake?: OnWake
  /** Options of the agent of the next owner. */
  readonly agent?: NonNullable<SetupOptions['agent']>
  /** Type of the event after which the caller goes on. By default the run must be at rest. */
  readonly until?: string
}

/** Creates a run whose owner died during the payment: that call has an unknown outcome, and the other call waits for its answer. */
export async function inDoubt(
  onUnknownOutcome: 'stop' | 'tell-model' = 'stop',
  { faults = [], until, ...options }: DoubtOptions = {},
): Promise<Doubt> {
  const clock = manualClock()
  const memory = memoryStore()
  await memory.open({ namespace: 'default', clock, owner: 'keeper' })
  const starts: Start[] = []
  const started = gate()
  const tools = [payTool(starts, started.open), place]
  let dead = false
  const dying: SessionStore = faultyStore(memory, [{ of: 'any', when: () => dead, fault: { error: new Error('dead') } }])
  const first = setup({ steps: [asks], tools, store: dying, clock, onError: () => undefined })
  await first.runtime.start()
  await first.runtime.session('room:1').send('go')
  await started.passed
  dead = true
  const stopping = first.runtime.stop({ graceMs: 0 })
  await clock.advance(10_001)
  await stopping
  const second = setup({ steps: [{ text: 'all done' }], tools, store: faultyStore(memory, faults), clock, onUnknownOutcome, ...options })
  const report = await second.runtime.start()
  const session = second.runtime.session('room:1')
  const atStart = await session.info()
  const [run] = (await session.runs()).items
  let isResumed = false
  for await (const { type } of session.events({ runId: run?.runId ?? '' })) {
    isResumed ||= type === 'turn-end'
    if (isResumed && type === until) break
  }
  return { ...second, session, starts, started: report, atStart }
}
