import * as restate from '@bowline/restate'
import { sessionsAt, sessionsOn, type ListenOptions } from '@bowline/restate'
import { SessionError, type Runtime } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { func, list, needed, options, refusedProblems, rowOf, someText, takenProblems, whole } from '../../../scripts/argument-table.ts'
import type { ShapedRow } from '../../../scripts/argument-table.ts'

const isText = (value: unknown): value is string => typeof value === 'string'
const place = {
  url: { good: 'http://restate:8080', accepts: (value: unknown) => value === undefined || (isText(value) && /^https?:\/\/\w/.test(value)) },
  name: { good: 'agents', accepts: (value: unknown) => value === undefined || (isText(value) && /^[A-Za-z][\w.-]{0,62}$/.test(value)) },
  headers: options({}, true, (value) => value === undefined),
}
const longestMs = 2 ** 31 - 1
const publicKey = 'publickeyv1_2G8dCQhArfvGpzPw5Vx2ALciR4xCLHfS5YaT93XjNxX9'
const methods = { work: async () => ({ ran: 0, yielded: 0, nextDueAt: null }), onWake: () => () => undefined }
const runtime = { ...methods, placement: 'host' } as unknown as Runtime

/** Closes the server again. Listens on loopback under any name, because a lookup of others would leave this machine. */
async function listen(given?: ListenOptions): Promise<void> {
  const isNamed = isText(given?.host) && given.host !== ''
  const { close } = await sessionsOn(runtime).listen(isNamed ? { ...given, host: '127.0.0.1' } : given)
  await close()
}

const rows: Readonly<Record<string, ShapedRow>> = {
  sessionsAt: { args: [['', options(place)]], call: sessionsAt },
  sessionsOn: {
    args: [
      ['runtime', needed({ good: runtime, accepts: (value) => value === runtime })],
      ['', options({ ...place, turnMs: whole(1, 1000, longestMs), frozenAfterMs: whole(100, 1000, longestMs) })],
    ],
    call: sessionsOn,
  },
  'HostedSessions.client': { args: [['', options(place)]], place: 'client', call: sessionsOn(runtime).client },
  'HostedSessions.listen': {
    args: [
      [
        '',
        options({
          host: someText(),
          port: whole(0, 0, 65_535),
          identityKeys: list([publicKey], (item) => item === publicKey),
          onWarning: func(),
        }),
      ],
    ],
    place: 'listen',
    call: listen,
  },
}

const isRefusal = (error: unknown): error is Error => SessionError.isInstance(error) && error.code === 'invalid-config'

describe('arguments', () => {
  it('S206: every exported function has a row', () => {
    expect(Object.keys(rows).filter((name) => !name.includes('.'))).toEqual(Object.keys(restate).sort())
  })

  it.each(Object.entries(rows))('S206: %s takes good values, and undefined for each option', async (name, row) => {
    expect(await takenProblems(rowOf(name, row), { isRefusal })).toEqual([])
  })

  it.each(Object.entries(rows))('S206, S208: %s refuses values of the wrong type and names their path', async (name, row) => {
    expect(await refusedProblems(rowOf(name, row), { isRefusal })).toEqual([])
  })

  it('refuses a runtime that claims work by itself', () => {
    expect(() => sessionsOn({ ...runtime, placement: 'own' })).toThrow(/runtime\.placement must be 'host'/)
  })

  it('refuses a runtime that another minor version of sessions made', () => {
    const other = { ...runtime, [Symbol.for('@bowline/sessions version')]: '99.0.0' }
    expect(() => sessionsOn(other)).toThrow(/runtime was made with @bowline\/sessions 99\.0\.0/)
  })

  it('S206: refuses a runtime that places its sessions itself, and a wrong address to listen on', async () => {
    expect(() => sessionsOn({ ...runtime, placement: 'own' })).toThrow("runtime.placement must be 'host'")
    await expect(sessionsOn(runtime).listen({ port: 70_000 })).rejects.toThrow('port')
    await expect(sessionsOn(runtime).listen({ identityKeys: 'key' as never })).rejects.toThrow('identityKeys')
    await expect(sessionsOn(runtime).listen({ host: '' })).rejects.toThrow('host')
  })

  it('warns that requests need no signature, unless only this machine reaches the port', async () => {
    const warningsOn = async (host: string): Promise<readonly string[]> => {
      const warnings: string[] = []
      const worker = await sessionsOn(runtime).listen({ host, port: 0, onWarning: (message) => void warnings.push(message) })
      await worker.close()
      return warnings
    }
    expect(await warningsOn('127.0.0.1')).toEqual([])
    expect(await warningsOn('0.0.0.0')).toEqual(expect.arrayContaining([expect.stringContaining('signatures')]))
  })

  it('S206: a header is a text with at least one character', () => {
    expect(() => sessionsAt({ headers: { authorization: 7 as never } })).toThrow(/headers.authorization/)
    expect(() => sessionsAt({ headers: { authorization: '' } })).toThrow(/headers.authorization/)
  })
})
