import { OpenWorkflow } from 'openworkflow'
import { BackendPostgres } from 'openworkflow/postgres'
import { nothingSeen, type DurableContender, type Seen, type Watch } from '../../src/contender.ts'
import { runTurn, toolStep } from './workflow-turn.ts'

/** Workflow of OpenWorkflow with a worker in the same process. Each turn is one run of it. */
export const contender: DurableContender = {
  async open(answers, url) {
    const watches = new Map<string, Watch>()
    const seen = new Map<string, Seen>()
    const backend = await BackendPostgres.connect(url)
    const client = new OpenWorkflow({ backend })
    const turn = client.defineWorkflow<{ readonly id: string }, void>({ name: 'turn' }, async ({ input, step }) => {
      let count = 0
      const durable = <T>(name: string, work: () => Promise<T>) => step.run({ name: `${name}-${count++}` }, work)
      seen.set(input.id, await runTurn(answers, watches.get(input.id) ?? {}, durable))
    })
    const worker = client.newWorker()
    await worker.start()
    return {
      async run(id, watch) {
        watches.set(id, watch)
        const handle = await turn.run({ id }, { idempotencyKey: id })
        await handle.result()
        return seen.get(id) ?? nothingSeen()
      },
      async storedToolResults(id) {
        const handle = await turn.run({ id }, { idempotencyKey: id })
        const { data } = await backend.listStepAttempts({ workflowRunId: handle.workflowRun.id, limit: 1_000 })
        return data.filter(({ stepName, status }) => stepName.startsWith(toolStep) && status === 'completed').length
      },
      async close() {
        await worker.stop()
        await backend.stop()
      },
    }
  },
}
