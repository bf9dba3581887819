import type { NoticeList, NoticeView } from '@bowline/client'
import { describe, expect, it } from 'vitest'
import { bench, refusal, say, stores } from './support/bench.ts'
import { allFrames } from './support/frames.ts'

const mine = '/api/agent/session/mine/notices'
const secret = 'a secret of sixteen characters'
/** The address cannot be reached: each attempt fails. */
const runtimeOptions = {
  notify: { url: 'https://hooks.example/', events: ['settled'], secret, retentionMs: 1 },
  webhooks: { resolve: () => Promise.resolve([]) },
} as const

describe.each(stores)('notices over the $name store', ({ make }) => {
  it('V103, S213: lists deliveries and failures and sends them again, without key, tenant or secret', async () => {
    const { get, post, execute, runtime, url } = await bench({ store: make(), runtimeOptions, steps: [{ text: 'One.' }] })
    await allFrames(await execute({ sessionId: 'mine', input: say('first'), context: {} }))
    const list = async (query = '') => ((await (await get(mine + query)).json()) as NoticeList).notices
    await expect.poll(async () => (await list('?state=failed')).length, { timeout: 20_000 }).toBe(1)
    const [failed] = await list()
    expect(failed).toMatchObject({
      n: 1,
      hook: 'default',
      type: 'settled',
      state: 'failed',
      error: 'the address is refused: it is not a public address',
      body: { agent: 'assistant', outcome: 'completed' },
    })
    for (const hidden of ['tenant:', 'hooks.example', secret]) expect(JSON.stringify(failed)).not.toContain(hidden)
    const again = (await (await post(`${mine}/${failed?.id}/resend`, {})).json()) as NoticeView
    expect(again).toMatchObject({ id: failed?.id, state: 'pending' })
    await refusal(post(`${mine}/made-up.1/resend`, {}), 404, 'unknown-notice')
    await refusal(get(`${mine}?cursor=x`), 400, 'invalid-cursor')
    expect((await fetch(`${url}/api/agent/session/other/notices`)).status).toBe(200)
    expect((await runtime.notices({ key: 'tenant:local:s:other' })).items).toEqual([])
  })
})
