import { createRuntime, type SessionStore } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { countRole, storedResult, type Answer, type DurableContender, type Opened } from '../contender.ts'
import { answersModel } from '../models.ts'
import { contenderAgent, readRun } from './bowline.ts'

/** Bowline with a model of the AI SDK. Each turn is a run of a session. */
export const contender: DurableContender = {
  open: (answers, file) => openRuntime(answers, sqliteStore({ file })),
}

export async function openRuntime(answers: readonly Answer[], store: SessionStore): Promise<Opened> {
  const agent = contenderAgent(answersModel(answers), answers.length, storedResult)
  const runtime = createRuntime({ agents: [agent], store })
  await runtime.start()
  return {
    run: async (id, watch) => readRun(await runtime.session(id).send('go'), watch),
    async storedToolResults(id) {
      const { items } = await runtime.session(id).messages({ limit: 1_000 })
      return countRole(items, 'tool-result')
    },
    close: () => runtime.stop(),
  }
}
