import { expect, it } from 'vitest'
import { say, temporaryFolder } from '../support/bench.ts'
import { servingCommand } from '../support/command.ts'
import { allFrames } from '../support/frames.ts'

it('V91: the command counts the work of its runtime', async () => {
  const { url } = await servingCommand([], { folder: temporaryFolder() })
  const body = JSON.stringify({ input: say('hi'), context: {} })
  await allFrames(await fetch(`${url}/api/agent/execute`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }))
  const text = await (await fetch(`${url}/metrics`)).text()
  expect(text).toMatch(/^bowline_runs_total\{status="completed"\} 1$/m)
  expect(text).toMatch(/^bowline_store_commit_seconds_count [1-9]/m)
})
