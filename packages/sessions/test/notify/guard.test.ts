import type { WebhookOptions } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { setup } from '../support.ts'
import { receiver, to } from './receiver.ts'

/** Returns the error of the only notice of a runtime with this webhook. */
async function errorOf(url: string, webhooks: WebhookOptions): Promise<string | undefined> {
  const { runtime } = setup({ steps: [{ text: 'hi' }], timers: false, notify: to(url), webhooks })
  await runtime.session('room:1').send('go')
  await runtime.drain()
  const {
    items: [notice],
  } = await runtime.notices()
  await runtime.stop()
  expect(notice?.state).toBe('pending')
  return notice?.error
}

const notPublic = 'the address is refused: it is not a public address'

describe('where webhooks may go', () => {
  it.each([
    '127.0.0.1',
    '127.1',
    '0x7f000001',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '10.0.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '168.63.129.16',
    'localhost',
  ])('S213: not to %s', async (host) => {
    const inside = await receiver()
    expect(await errorOf(`http://${host}:${inside.port}/`, { http: true })).toBe(notPublic)
    expect(inside.received).toEqual([])
  })

  it('S213: not to a name with such an address, nor to a name without an address', async () => {
    const inside = await receiver()
    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], []]) {
      expect(await errorOf(`http://hooks.example:${inside.port}/`, { http: true, resolve: () => Promise.resolve(addresses) })).toBe(
        notPublic,
      )
    }
    expect(await errorOf('https://hooks.example/', { resolve: () => Promise.reject(new Error('ENOTFOUND')) })).toBe(notPublic)
    expect(inside.received).toEqual([])
  })

  it('S213: a redirect is a failure, and is not followed', async () => {
    const inside = await receiver()
    const outside = await receiver((response) => void response.writeHead(307, { location: inside.url }).end(), '127.0.0.2')
    expect(await errorOf(outside.url, { http: true, allow: ['127.0.0.2'] })).toBe('the receiver answered 307')
    expect([outside.received.length, inside.received.length]).toEqual([1, 0])
  })

  it('S213: the connection goes to the address that was tested', async () => {
    const outside = await receiver(undefined, '127.0.0.2')
    const answers = [['127.0.0.2'], ['127.0.0.1']]
    const { runtime } = setup({
      steps: [{ text: 'hi' }],
      timers: false,
      notify: to(`http://hooks.example:${outside.port}/`),
      webhooks: { http: true, allow: ['127.0.0.2'], resolve: () => Promise.resolve(answers.shift() ?? []) },
    })
    await runtime.session('room:1').send('go')
    await runtime.drain()
    expect([outside.received.length, answers.length]).toEqual([1, 1])
    await runtime.stop()
  })

  it('S213: a receiver that is unreachable or does not speak HTTP counts as a failure', async () => {
    const gone = await receiver()
    await gone.close()
    expect(await errorOf(gone.url, { http: true, allow: ['127.0.0.1'] })).toBe('the receiver cannot be reached: ECONNREFUSED')
  })
})
