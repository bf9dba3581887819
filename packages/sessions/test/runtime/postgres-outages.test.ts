import { defineTool } from '@bowline/agent-loop'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { recordingStore } from '../recording-store.ts'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { wireProxies } from '../../../postgres/test/wire-proxy.ts'
import { checkLog, setup } from '../support.ts'

const awayMs = 100
/** Commits of a run with two tools. */
const moments = [1, 2, 3, 4]
const place = postgresPlace()
const startProxy = wireProxies()

it('S61: a Postgres that is cut off at any commit of a run costs no decision, no second model call and no second payment', async () => {
  const proxy = await startProxy(place.url)
  let awayUntil = 0
  proxy.cut = () => (Date.now() < awayUntil ? 'before' : undefined)
  let [cutAt, commits] = [0, 0]
  const store = recordingStore(await place.empty({ connectionString: proxy.url, onWarning: () => undefined }), ({ expect }) => {
    if (!expect.some(({ that }) => that === 'fence') || ++commits !== cutAt) return
    awayUntil = Date.now() + awayMs
    proxy.cutAll()
  })
  const paid: string[] = []
  const tool = (name: string) =>
    defineTool({ name, description: 'Acts once.', inputSchema: z.object({}), effect: 'once' as const, execute: () => paid.push(name) })
  const call = (name: string) => ({ toolCalls: [{ id: name, name, input: {} }] })
  const steps = moments.flatMap(() => [call('pay'), call('ship'), { text: 'done' }])
  const { runtime, model, faults } = setup({ steps, tools: [tool('pay'), tool('ship')], store })
  await runtime.start()
  for (const moment of moments) {
    ;[cutAt, commits] = [moment, 0]
    const session = runtime.session(`room:${moment}`)
    const run = await session.send('go')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(commits).toBeGreaterThan(moments.length)
    expect(await store.readRun(run.runId)).toMatchObject({ value: { epoch: 1, totalAttempts: 0 } })
    await checkLog(session)
  }
  expect(model.calls).toHaveLength(3 * moments.length)
  expect(paid).toEqual(moments.flatMap(() => ['pay', 'ship']))
  expect(faults).not.toEqual([])
  await runtime.stop()
})
