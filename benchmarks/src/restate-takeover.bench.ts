import { defineAgent } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { sessionsOn } from '@bowline/restate'
import { isShort, type Bench } from './harness.ts'
import { pacedModel } from './paced-model.ts'
import { pacedAgent, startProcess } from './postgres-process.ts'
import { withRestate } from './restate-servers.ts'
import { Pair, takeOverHead, takeOverRows, type Trials } from './take-over.ts'

const trials: Trials = { SIGKILL: isShort ? 2 : 30, SIGSTOP: isShort ? 1 : 5 }
const frozenAfterMs = 10_000

export const bench: Bench = {
  title: 'Take-over on Restate',
  text: [
    'Two workers behind a TCP balancer; Restate places the sessions, Postgres keeps them. The worker that executes a run is killed or frozen in the middle of a model call: from then until the other one',
    `calls the model for this run. \`frozenAfterMs\` is ${frozenAfterMs / 1000} s, and Restate checks a silent connection after 1 s.`,
  ].join('\n'),
  async run() {
    const rows = await withRestate(async ({ postgres, restate, balancer }) => {
      const agent = defineAgent({ name: pacedAgent, model: pacedModel })
      const runtime = createRuntime({
        agents: [agent],
        store: postgresStore({ connectionString: postgres.url }),
        placement: 'host',
        concurrency: 0,
      })
      sessionsOn(runtime, { url: restate.url })
      const pair = new Pair({
        start: () => startProcess({ url: postgres.url, concurrency: 32, restate: { url: restate.url, port: 0, frozenAfterMs } }),
        onFull: (processes) => balancer.use(...processes.map(({ port = 0 }) => port)),
      })
      try {
        await runtime.start({ keepAlive: true })
        await pair.fill()
        await restate.register(balancer.url)
        return await takeOverRows(runtime, pair, trials)
      } finally {
        await pair.stop()
        await runtime.stop()
      }
    })
    return { head: takeOverHead, rows }
  },
}
