import { defineAgent, type AgentModel } from '@bowline/agent-loop'
import { createRuntime, type Session } from '@bowline/sessions'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { streamAfter } from './contenders/bowline-function.ts'
import { isShort, type Bench } from './harness.ts'
import { textModel } from './models.ts'
import { withSqlite } from './sqlite-sample.ts'

const places = isShort ? [100, 200] : [1_000, 5_000, 20_000]
/** Turns over which the CPU is measured, up to each place. */
const measured = isShort ? 50 : 500
/** Turns of the session that is forked. */
const forked = isShort ? 100 : 4_000

const models: Readonly<Record<string, AgentModel>> = {
  function: () => streamAfter([{ text: 5 }], 0),
  model: textModel(5, 'pull'),
}

export const bench: Bench = {
  title: 'Turns of a session that only grows, on SQLite',
  text: [
    `One session without compaction, turn after turn, each with an input and an answer of five deltas. CPU of the process per turn, over the last ${measured} turns up to each place.`,
    'A *function* gets the messages as a list; a *model* of the AI SDK gets a request, which is as long as the conversation: what grows is the making of it.',
    `*Fork*: the longest that the fork of the session with ${forked.toLocaleString('en')} turns kept the process from other work, and how long it took.`,
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const [name, model] of Object.entries(models)) rows.push([name, ...(await costs(model))])
    return { head: ['model', ...places.map((place) => `ms at turn ${place.toLocaleString('en')}`), 'fork: longest ms', 'in all'], rows }
  },
}

async function costs(model: AgentModel): Promise<readonly string[]> {
  return withSqlite(async (store) => {
    const agent = defineAgent({ name: 'assistant', model, compaction: false })
    const runtime = createRuntime({ agents: [agent], store })
    try {
      await runtime.start()
      const session = runtime.session('bench')
      const found: string[] = []
      let fork: readonly string[] = []
      let before = process.cpuUsage()
      for (let turn = 1; turn <= (places.at(-1) ?? 0); turn++) {
        if (places.includes(turn + measured - 1)) before = process.cpuUsage()
        await (await session.send(`Input ${turn}.`)).result()
        const { user, system } = process.cpuUsage(before)
        if (places.includes(turn)) found.push(((user + system) / 1000 / measured).toFixed(2))
        if (turn === forked) fork = await forkOf(session)
      }
      return [...found, ...fork]
    } finally {
      await runtime.stop()
    }
  })
}

async function forkOf(session: Session): Promise<readonly string[]> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  await setImmediate()
  delay.enable()
  const startedAt = performance.now()
  await session.fork()
  const inAll = performance.now() - startedAt
  await setImmediate()
  delay.disable()
  return [delay.max / 1e6, inAll].map((ms) => ms.toFixed(0))
}
