import { DBOS } from '@dbos-inc/dbos-sdk'
import { nothingSeen, type DurableContender, type Seen, type Watch } from '../../src/contender.ts'
import { runTurn, toolStep } from './workflow-turn.ts'

/** Workflow of DBOS. Each turn is one run of it. */
export const contender: DurableContender = {
  async open(answers, url) {
    const watches = new Map<string, Watch>()
    const seen = new Map<string, Seen>()
    const turn = DBOS.registerWorkflow(
      async (id: string) => {
        const step = <T>(name: string, work: () => Promise<T>) => DBOS.runStep(work, { name })
        seen.set(id, await runTurn(answers, watches.get(id) ?? {}, step))
      },
      { name: 'turn' },
    )
    DBOS.setConfig({ name: 'benchmark', systemDatabaseUrl: url, runAdminServer: false, logLevel: 'error' })
    await DBOS.launch()
    return {
      async run(id, watch) {
        watches.set(id, watch)
        const handle = await DBOS.startWorkflow(turn, { workflowID: id })(id)
        await handle.getResult()
        return seen.get(id) ?? nothingSeen()
      },
      async storedToolResults(id) {
        const steps = (await DBOS.listWorkflowSteps(id)) ?? []
        return steps.filter(({ name, output }) => name === toolStep && output !== null).length
      },
      close: () => DBOS.shutdown({ deregister: true }),
    }
  },
}
