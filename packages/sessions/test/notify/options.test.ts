import { defineAgent } from '@bowline/agent-loop'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import { createRuntime, verifyWebhook, type Runtime } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { signatureOf } from '../../src/net/webhook-signature.ts'

const secret = 'a secret of sixteen characters'
const good = { url: 'https://example.com/hook', events: ['settled'], secret } as const

function runtimeWith(options: object): Runtime {
  return createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })], ...options })
}

const wrong: readonly (readonly [field: string, value: unknown])[] = [
  ['url', 'http://example.com/'],
  ['url', 'https://user@example.com/'],
  ['url', 'example.com'],
  ['url', undefined],
  ['events', []],
  ['events', ['ended']],
  ['events', undefined],
  ['secret', 'short'],
  ['secret', []],
  ['secret', [secret, 'short']],
  ['secret', undefined],
  ['headers', { host: 'elsewhere' }],
  ['headers', { 'content-length': '0' }],
  ['headers', { 'bowline-signature': 'mine' }],
  ['headers', { 'x y': 'z' }],
  ['headers', { x: 'a\r\nb' }],
  ['headers', { x: 1 }],
  ['retentionMs', 0],
  ['retentionMs', 1.5],
  ['events2', ['settled']],
]

describe('bad input', () => {
  it.each(wrong)('S212: %s as %j is refused, for a runtime and for a session', (field, value) => {
    const notify = { ...good, [field]: value }
    const named = expect.stringMatching(new RegExp(`notify.*${field}`)) as string
    expect(() => runtimeWith({ notify })).toThrow(expect.objectContaining({ code: 'invalid-config', message: named }))
    expect(() => runtimeWith({ notify: [notify] })).toThrow(expect.objectContaining({ code: 'invalid-config', message: named }))
    expect(() => runtimeWith({}).session('room:1', { notify })).toThrow(expect.objectContaining({ code: 'invalid-input', message: named }))
  })

  it('S212: an error repeats neither address nor secret', () => {
    for (const bad of [
      { ...good, secret: 'hunter2' },
      { ...good, url: 'http://hunter2.example/' },
    ]) {
      expect(() => runtimeWith({ notify: bad })).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('hunter2') as string }),
      )
    }
  })

  it('S212: several webhooks need names, and no name may be the one for sessions', () => {
    expect(() => runtimeWith({ notify: [good, good] })).toThrow(/notify\[1\]\.name is used twice: "default"/)
    for (const name of ['session', 'With Space', '']) expect(() => runtimeWith({ notify: { ...good, name } })).toThrow(/notify\.name/)
    expect(() => runtimeWith({ notify: 'https://example.com' })).toThrow(/notify/)
    expect(() => runtimeWith({ notify: [undefined] })).toThrow(/notify\[0\]/)
  })

  it('S213: ranges that cannot be parsed and unknown options are refused', () => {
    expect(() => runtimeWith({ webhooks: { allow: ['10/8'] } })).toThrow(/webhooks\.allow\[0\]/)
    expect(() => runtimeWith({ webhooks: { https: true } })).toThrow(/https/)
    expect(() => runtimeWith({ webhooks: { http: true }, notify: { ...good, url: 'http://example.com/' } })).not.toThrow()
    expect(() =>
      runtimeWith({ webhooks: { http: true } }).session('room:1', { notify: { ...good, url: 'http://example.com/' } }),
    ).not.toThrow()
  })

  it('S213: a list of notices is refused with unknown fields or values', async () => {
    const runtime = runtimeWith({})
    for (const query of [{ state: 'sent' }, { limit: 0 }, { key: '' }, { hooks: ['a'] }]) {
      await expect(runtime.notices(query as never)).rejects.toMatchObject({ code: 'invalid-input' })
    }
    await expect(runtime.notices({ page: 'made up' })).rejects.toMatchObject({ code: 'invalid-cursor' })
    await expect(runtime.resendNotice('room:1', '')).rejects.toMatchObject({ code: 'invalid-input' })
    await runtime.stop()
  })
})

describe('the signature', () => {
  const clock = manualClock(1_750_000_000_000)
  const body = '{"type":"settled"}'
  const header = signatureOf(body, [secret], clock.now())

  it('S212: is an HMAC-SHA-256 over time and body', () => {
    expect(header).toMatch(/^t=1750000000,v1=[0-9a-f]{64}$/)
    expect(verifyWebhook({ 'bowline-signature': header }, body, secret, { clock })).toBe(true)
    expect(
      verifyWebhook(new Headers({ 'Bowline-Signature': header }), new TextEncoder().encode(body), [secret, 'the next secret to be'], {
        clock,
      }),
    ).toBe(true)
  })

  it('S212: another body, secret, time or form is refused', () => {
    expect(verifyWebhook({ 'bowline-signature': header }, `${body} `, secret, { clock })).toBe(false)
    expect(verifyWebhook({ 'bowline-signature': header }, body, 'another secret of sixteen', { clock })).toBe(false)
    expect(verifyWebhook({ 'bowline-signature': header.replace('t=1', 't=2') }, body, secret, { clock, toleranceMs: 1e15 })).toBe(false)
    for (const text of ['', 't=1750000000', 'v1=00', 't=x,v1=00', 't=1750000000,v1=zz', 't=1750000000,v1=']) {
      expect(verifyWebhook({ 'bowline-signature': text }, body, secret, { clock })).toBe(false)
    }
    expect(verifyWebhook({}, body, secret, { clock })).toBe(false)
    const late = (byMs: number) => manualClock(1_750_000_000_000 + byMs)
    expect(
      [300_000, 300_001, -300_001].map((byMs) => verifyWebhook({ 'bowline-signature': header }, body, secret, { clock: late(byMs) })),
    ).toEqual([true, false, false])
  })

  it('S212: each of several secrets signs', () => {
    const both = { 'bowline-signature': signatureOf(body, [secret, 'the next secret to be'], clock.now()) }
    expect([secret, 'the next secret to be'].map((each) => verifyWebhook(both, body, each, { clock }))).toEqual([true, true])
  })
})
