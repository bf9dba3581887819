import { defineAgent } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { isShort, type Bench } from './harness.ts'
import { pacedModel } from './paced-model.ts'
import { pacedAgent, startProcess } from './postgres-process.ts'
import { withPostgres } from './postgres-server.ts'
import { Pair, takeOverHead, takeOverRows, type Trials } from './take-over.ts'

const trials: Trials = { SIGKILL: isShort ? 2 : 50, SIGSTOP: isShort ? 1 : 20 }

export const bench: Bench = {
  title: 'Take-over on Postgres',
  text: [
    'Two processes with the default lease of 10 s, over one database. The one that executes a run is killed or frozen in the middle of a model call: from then until the other one calls the model for this run,',
    `${trials.SIGKILL} times with \`SIGKILL\` and ${trials.SIGSTOP} times with \`SIGSTOP\`.`,
  ].join('\n'),
  async run() {
    const rows = await withPostgres(async ({ url }) => {
      const agent = defineAgent({ name: pacedAgent, model: pacedModel })
      const runtime = createRuntime({ agents: [agent], store: postgresStore({ connectionString: url }), concurrency: 0 })
      const pair = new Pair({ start: () => startProcess({ url, concurrency: 32 }) })
      try {
        await runtime.start({ keepAlive: true })
        await pair.fill()
        return await takeOverRows(runtime, pair, trials)
      } finally {
        await pair.stop()
        await runtime.stop()
      }
    })
    return { head: takeOverHead, rows }
  },
}
