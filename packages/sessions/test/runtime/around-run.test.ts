import { AsyncLocalStorage } from 'node:async_hooks'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { expect, it, onTestFinished } from 'vitest'
import { createRuntime, type RunExecution } from '../../src/index.ts'

function runtimeWith(aroundRun: NonNullable<Parameters<typeof createRuntime>[0]['aroundRun']>, seen: () => void = () => undefined) {
  const model = scriptedModel(() => {
    seen()
    return { text: 'Hi.' }
  })
  const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model, tools: [] })], aroundRun, onError: () => undefined })
  onTestFinished(() => runtime.stop())
  return runtime
}

it('aroundRun sees each execution, and the work of a run happens within it', async () => {
  const storage = new AsyncLocalStorage<string>()
  const executions: RunExecution[] = []
  const within: (string | undefined)[] = []
  const runtime = runtimeWith(
    (run, execute) => {
      executions.push(run)
      return storage.run(run.runId, execute)
    },
    () => within.push(storage.getStore()),
  )
  const runs = await Promise.all(['one', 'two'].map((key) => runtime.session(key).send({ role: 'user', content: 'hi' })))
  await Promise.all(runs.map((run) => run.result()))
  const ids = runs.map((run) => run.runId)
  expect(executions.map(({ runId }) => runId).sort()).toEqual([...ids].sort())
  expect(executions.find(({ session }) => session === 'one')).toEqual({
    runId: ids[0],
    session: 'one',
    agent: 'assistant',
    kind: 'user',
    claims: 0,
  })
  expect(within.sort()).toEqual([...ids].sort())
})

it('if aroundRun fails before the run, the run ends and nothing hangs', async () => {
  const runtime = runtimeWith(() => {
    throw new Error('no')
  })
  const run = await runtime.session('one').send({ role: 'user', content: 'hi' })
  expect((await run.result()).status).toBe('error')
})
