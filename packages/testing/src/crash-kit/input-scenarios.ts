import { defineExtension, type AgentOptions } from '@bowline/agent-loop'
import type { Runtime, Session } from '@bowline/sessions'
import { isEnded } from '@bowline/agent-loop/events'
import { assistant, calling, done, effectTool, key } from './scenario-parts.ts'
import type { CrashScenario, World } from './types.ts'

/** Scenarios with inputs during a turn, and with a deadline. */
export const inputScenarios = {
  /** Two inputs into the active run. */
  steer: {
    agents: slow,
    drive: whileBusy(async (session) => {
      await session.steer('turn left', { id: 'left' })
      await session.steer('and then right', { id: 'right' })
    }),
  },
  /** A follow-up, which runs after the active run and before a queued input. */
  followUp: {
    agents: slow,
    drive: whileBusy(async (session) => {
      await session.send('later', { id: 'later' })
      await session.followUp('and then?', { id: 'then' })
    }),
  },
  /** An input that interrupts the active run. */
  interrupt: {
    agents: slow,
    drive: whileBusy(async (session) => void (await session.send('rather this', { id: 'rather', onBusy: 'interrupt' }))),
  },
  /** An overlay that two turns see. */
  overlay: {
    agents: slow,
    async drive(runtime, world) {
      const session = runtime.session(key)
      await once(world, 'overlay', () => session.overlay('be brief', { id: 'brief', turns: 2 }))
      const runs = [await session.send('go', { id: 'first' }), await session.send('go on', { id: 'second' })]
      for (const run of runs) await run.result()
    },
  },
  /** A call whose approval never comes, with a hook that is still working after the turn when the deadline passes. */
  deadline: {
    agents: (world) => {
      const tools = [effectTool(world, 'pay', 'once', { needsApproval: true, approvalTimeoutMs: 1_000 })]
      const slowEnd = defineExtension({ name: 'slow-end', hooks: { onAgentEnd: () => world.sleep(2_000) } })
      return [{ ...assistant(tools, [calling('pay'), done]), extensions: [slowEnd] }]
    },
    async drive(runtime, world) {
      const run = await runtime.session(key).send('go', { id: 'first' })
      while (!isEnded(await run.status())) await world.sleep(500)
    },
  },
} as const satisfies Readonly<Record<string, CrashScenario>>

/** Returns an agent whose call takes a second. */
function slow(world: World): readonly AgentOptions[] {
  return [assistant([effectTool(world, 'index', 'idempotent', { takesMs: 1_000 })], [calling('index'), done])]
}

/** Sends an input. Calls `more` when the tool call has begun, unless the client remembers that it was done. */
function whileBusy(more: (session: Session) => Promise<void>): CrashScenario['drive'] {
  return async (runtime: Runtime, world: World) => {
    const session = runtime.session(key)
    const run = await session.send('go', { id: 'first' })
    for await (const event of run) if (event.type === 'tool-execution-start') break
    await once(world, 'more', () => more(session))
    await run.result()
  }
}

/** Runs the work, unless an earlier process has told the client that it is done. */
async function once(world: World, name: string, work: () => Promise<void>): Promise<void> {
  if (world.notes.has(name)) return
  await work()
  world.notes.set(name, true)
}
