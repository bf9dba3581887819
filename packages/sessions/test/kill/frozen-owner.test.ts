import { defineTool, type ToolEffect } from '@bowline/agent-loop'
import { checkTranscript } from '@bowline/testing'
import { manualClock, type ManualClock, type Step } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import type { Batch, CommitResult } from '../../src/contract/batch.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { CrashProcess } from '../../../testing/src/crash-kit/crash-process.ts'
import { checkLog, gate, setup } from '../support.ts'

/** An owner that can be frozen: then its store calls are neither executed nor answered, and its timers do not fire. */
class Owner extends CrashProcess {
  readonly refused: string[] = []
  readonly accepted: Batch[] = []
  readonly frozen = gate()
  #commits = 0

  /** Freezes at the commit of this number, before the store gets it or before the answer arrives. */
  around(store: SessionStore, number: number, when: 'before' | 'after'): SessionStore {
    return aroundStore(store, async (operation, args, go) => {
      const isLast = operation === 'commit' && ++this.#commits === number
      if (isLast && when === 'before') this.#freeze()
      await this.pass('store')
      const answer = await go()
      if (operation === 'commit') this.#note(args[0] as Batch, answer as CommitResult)
      if (isLast && when === 'after') this.#freeze()
      await this.pass('store')
      return answer
    })
  }

  #freeze(): void {
    this.stop()
    this.frozen.open()
  }

  #note(batch: Batch, result: CommitResult): void {
    if (result.ok) this.accepted.push(batch)
    else this.refused.push(result.reason)
  }
}

async function passUntil<T>(clock: ManualClock, happens: Promise<T>): Promise<T> {
  let open = true
  const done = happens.finally(() => (open = false))
  for (let seconds = 0; open && seconds < 120; seconds++) await clock.advance(1_000)
  return done
}

/** Creates an agent with two tools side by side and then an answer. Records each start of a tool in any process. */
function work(process: CrashProcess | undefined, effects: string[]) {
  const tool = (name: string, effect: ToolEffect) =>
    defineTool({
      name,
      effect,
      description: `Does ${name}.`,
      inputSchema: { type: 'object', properties: {} } as const,
      async execute(_input, { abortSignal }) {
        await process?.pass('code')
        abortSignal.throwIfAborted()
        effects.push(name)
        return `${name} is done`
      },
    })
  const steps = async ({ prompt }: { readonly prompt: readonly { readonly role: string }[] }): Promise<Step> => {
    await process?.pass('code')
    if (prompt.some((message) => message.role === 'tool')) return { text: 'all is done' }
    return { toolCalls: ['charge', 'index'].map((name) => ({ id: `call-${name}`, name, input: {} })) }
  }
  return { steps, tools: [tool('charge', 'once'), tool('index', 'idempotent')], onUnknownOutcomeOfAgent: 'tell-model' } as const
}

/** All commits of an owner in such a run. */
const commits = [1, 2, 3, 4]
const moments = commits.flatMap((number) => (['before', 'after'] as const).map((when) => ({ number, when })))

describe('two runtimes in one process on one memory store, because files and databases stay locked by a stopped process', () => {
  it.each(moments)(
    'S36, S37, S57, S75: the owner is frozen $when its commit $number by withholding its clock and the answers of its store, another takes over, and no write of the owner is accepted after it wakes',
    async ({ number, when }) => {
      const clock = manualClock()
      const memory = memoryStore()
      const effects: string[] = []
      const client = setup({ steps: [], store: memory, clock, concurrency: 0 })
      await client.runtime.start()
      const session = client.runtime.session('room:1')
      const run = await session.send('go')

      const owner = new Owner('owner', clock)
      const first = setup({ ...work(owner, effects), store: owner.around(memory, number, when), clock: owner.clock })
      await first.runtime.start()
      await passUntil(clock, owner.frozen.passed)
      await clock.advance(10_000)
      const second = setup({ ...work(undefined, effects), store: memory, clock })
      await second.runtime.start()
      const result = await passUntil(clock, run.result())
      const [log, before] = [await checkLog(session), owner.accepted.length]

      owner.wake()
      owner.finishWaking()
      await clock.advance(30_000)
      expect(owner.accepted.slice(before)).toEqual([])
      expect(owner.refused.every((reason) => reason === 'fenced')).toBe(true)
      expect(await checkLog(session)).toEqual(log)
      expect(checkTranscript((await session.messages()).items)).toEqual([])
      expect(result).toMatchObject({ status: 'completed', text: 'all is done' })
      expect(effects.filter((name) => name === 'charge').length).toBeLessThanOrEqual(1)
      expect([first.faults, second.faults]).toEqual([[], []])
      for (const { runtime } of [first, second, client]) await runtime.stop()
    },
  )
})
