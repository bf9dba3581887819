import { inspect } from 'node:util'
import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createBridge, inProcessExecutor } from '../src/index.ts'
import type { PromptContext } from '../src/index.ts'
import { failureOf, recordingLogger, startBridge, testAgent } from './support.ts'

afterEach(() => void vi.restoreAllMocks())

describe('the default logger of a bridge', () => {
  it('B34, B67: an agent may throw a circular value: the caller gets the error, and the session is free', async () => {
    const lines: string[] = []
    vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
    const circular = Object.assign(new Error('no route'), { count: 1n, request: {} })
    circular.request = { error: circular }
    const agent = testAgent('a', {
      onPrompt: () => {
        throw circular
      },
    })
    const bridge = createBridge({ executors: [inProcessExecutor({ agents: [agent] })] })
    await bridge.start()
    const run = bridge.delegate({ prompt: 'hi', requestId: 'r1' })
    expect(failureOf(await run.result())).toMatchObject({ code: 'UPSTREAM', message: 'Agent a failed' })
    expect(failureOf(await bridge.request('r1')).code).toBe('UPSTREAM')
    expect(bridge.health()).toMatchObject({ sessions: { active: 0 }, requests: { inFlight: 0 } })
    await bridge.stop()
    const told = lines.filter((line) => line.includes('the agent failed'))
    expect(told).toHaveLength(1)
    expect((JSON.parse(told[0] as string) as { fields: string }).fields).toContain('no route')
  })

  it('B34: B115: no secret of a thrown value reaches a log, whatever its shape', async () => {
    const secret = 'sk-proj-abcdefghijkl1234'
    class Headers {
      readonly authorization = `Bearer ${secret}`
    }
    const inner = Object.assign(new Error(`upstream said ${secret}`), {
      headers: new Headers(),
      url: new URL(`https://a.example/?token=${secret}`),
    })
    const thrown: readonly unknown[] = [
      new Error(`Incorrect API key: ${secret}`),
      new Error('failed', { cause: inner }),
      Object.assign(new Error('failed'), { config: { apiKey: secret, password: [4711], list: [{ 'x-api-key': secret }] }, self: {} }),
      `api_key=${secret}`,
      { request: { headers: new Headers() }, toString: () => 'x' },
      {
        get broken(): string {
          throw inner
        },
      },
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw inner
          },
        },
      ),
    ]
    const lines: string[] = []
    vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
    const onPrompt = ({ prompt }: PromptContext) => {
      throw thrown[Number(prompt)]
    }
    const logger = recordingLogger()
    for (const options of [{}, { logger }]) {
      const bridge = createBridge({ executors: [inProcessExecutor({ agents: [testAgent('a', { onPrompt })] })], ...options })
      await bridge.start()
      const failures = thrown.map((_, place) => bridge.delegate({ prompt: String(place) }).result())
      expect((await Promise.all(failures)).map((result) => failureOf(result).message)).toEqual(thrown.map(() => 'Agent a failed'))
      await bridge.stop()
    }
    expect(lines.filter((line) => line.includes('the agent failed'))).toHaveLength(thrown.length)
    expect(lines.join('')).not.toContain(secret)
    expect(inspect(logger.lines, { depth: 20 })).not.toContain(secret)
    expect(lines.join('')).not.toContain('4711')
    expect(lines.join('')).toContain('logger.test.ts')
  })

  it('B115: a prompt writes no line: changes of sessions and requests are debug', async () => {
    const written = vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
    const bridge = createBridge({ executors: [inProcessExecutor({ agents: [testAgent('a')] })] })
    await bridge.start()
    expect(await bridge.delegate({ prompt: 'hi' }).result()).toMatchObject({ text: 'a: hi' })
    expect(written).not.toHaveBeenCalled()
    await bridge.stop()
    const { bridge: other, logger } = await startBridge([testAgent('a')])
    await other.delegate({ prompt: 'hi' }).result()
    const changes = logger.lines.filter(({ message }) => message === 'request changed' || message === 'session changed')
    expect(new Set(changes.map(({ level }) => level))).toEqual(new Set(['debug']))
  })

  it('B34: the cause of a logged error stays an error with its own cause', async () => {
    const logger = recordingLogger()
    const { bridge } = await startBridge(
      [testAgent('a', { onPrompt: () => Promise.reject(new TypeError('no', { cause: new RangeError('why') })) })],
      { logger },
    )
    await bridge.delegate({ prompt: 'hi' }).result()
    const { cause } = logger.lines.find(({ message }) => message === 'the agent failed')?.fields ?? {}
    expect(cause).toBeInstanceOf(Error)
    expect(cause).toMatchObject({
      name: 'TypeError',
      message: 'no',
      stack: expect.stringContaining('logger.test.ts'),
      cause: { name: 'RangeError', message: 'why' },
    })
  })
})

describe('pino as the logger', () => {
  it('B115, B116: a value that an agent throws is in the log with all of its causes, without secrets', async () => {
    const secret = 'sk-proj-abcdefghijkl1234'
    const root = Object.assign(new Error(`connect refused for ${secret}`), { code: 'ECONNREFUSED' })
    const thrown = new Error('the model was not reached', { cause: new TypeError('fetch failed', { cause: root }) })
    const lines: string[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
    const { bridge } = await startBridge([testAgent('a', { onPrompt: () => Promise.reject(thrown) })], { logger })
    await bridge.delegate({ prompt: 'hi' }).result()
    const line = JSON.parse(lines.find((each) => each.includes('the agent failed')) ?? '{}') as Record<string, unknown>
    expect(line).toMatchObject({
      msg: 'the agent failed',
      agentId: 'a',
      cause: {
        name: 'Error',
        message: 'the model was not reached',
        stack: expect.stringContaining('logger.test'),
        cause: { name: 'TypeError', message: 'fetch failed', cause: { message: 'connect refused for [redacted]', code: 'ECONNREFUSED' } },
      },
    })
    expect(lines.join('')).not.toContain(secret)
  })
})
