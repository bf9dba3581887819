import { defineTool } from '@bowline/agent-loop'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { setup } from '../../support.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })

it('S148, S208: a change of the tree of a waiting session is refused with an error that says that it waits', async () => {
  const { runtime } = setup({ steps: [{ toolCalls: [{ id: 'c1', name: 'place', input: {} }] }], tools: [place] })
  await runtime.start()
  const session = runtime.session('room:1')
  const run = await session.send('where?')
  await run.result()
  const waits = {
    code: 'busy',
    runId: run.runId,
    message: expect.stringContaining('is waiting-for-user: answer it, or stop it') as unknown,
  }
  await expect(session.switchTo(null)).rejects.toMatchObject(waits)
  await expect(session.compact()).rejects.toMatchObject(waits)
  await expect(session.fork()).rejects.toMatchObject(waits)
  await runtime.stop()
})
