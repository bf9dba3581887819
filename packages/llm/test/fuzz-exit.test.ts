import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'

/** Makes many calls on the system clock and abandons them in every possible way. None may keep the process alive. */
const script = `
  import { getEventListeners } from 'node:events'
  import { streamMessage } from '@bowline/llm'
  const usage = { inputTokens: {}, outputTokens: {} }
  const finish = { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage }
  const delta = { type: 'text-delta', id: 't', delta: 'word ' }
  const streams = {
    whole: () => ReadableStream.from([delta, delta, finish]),
    broken: () => new ReadableStream({ pull: (c) => (c.enqueue(delta), c.error(new Error('gone'))) }),
    failing: () => ReadableStream.from([delta, { type: 'error', error: new Error('no') }]),
    silent: () => new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => new Promise(() => {}) }),
    open: () => new ReadableStream({ start: (c) => (c.enqueue(delta), c.enqueue(finish)), cancel: () => Promise.reject(new Error('no')) }),
    piped: () => streams.silent().pipeThrough(new TransformStream()),
  }
  const model = (doStream) => ({ specificationVersion: 'v4', provider: 'p', modelId: 'm', supportedUrls: {}, doStream })
  const models = {
    ...Object.fromEntries(Object.entries(streams).map(([name, open]) => [name, model(async () => ({ stream: open() }))])),
    refusing: model(async () => { throw new Error('refused') }),
    absent: model(() => new Promise(() => {})),
  }
  const endless = ['silent', 'piped', 'absent']
  const shared = new AbortController()
  const start = (name, timeouts) =>
    streamMessage({ model: models[name], messages: [{ role: 'user', content: 'x' }], abortSignal: shared.signal, timeouts })
  const ways = {
    drained: (name) => start(name, endless.includes(name) ? { totalMs: 20 } : {}).result(),
    limited: (name) => start(name, { firstPartMs: 20, idleMs: 20 }).result(),
    aborted: (name) => {
      const stream = start(name)
      const result = stream.result()
      setImmediate(() => stream.abort('enough'))
      return result
    },
    left: async (name) => {
      const stream = start(name)
      const iterator = stream[Symbol.asyncIterator]()
      await iterator.next()
      void iterator.next()
      await iterator.return()
      return stream.result()
    },
  }
  const names = Array.from({ length: 5 }, () => Object.keys(models)).flat()
  const messages = await Promise.all(names.flatMap((name) => Object.values(ways).map((way) => way(name))))
  const listeners = getEventListeners(shared.signal, 'abort').length
  // Forgotten in the middle, with limits of minutes: no timer may wait for them.
  for (const name of Object.keys(models)) void start(name)[Symbol.asyncIterator]().next()
  await new Promise((resolve) => setImmediate(resolve))
  console.log(JSON.stringify({ reasons: messages.map((message) => message.stopReason), listeners }))
  process.on('exit', (code) => console.log('exit ' + code))`

/** Runs a script whose last line is not reached if the process exits during its await. */
async function ending(awaited: string): Promise<{ code: number; stdout: string }> {
  const lines = `
    import { streamMessage } from '@bowline/llm'
    const model = (doStream) => ({ specificationVersion: 'v4', provider: 'p', modelId: 'm', supportedUrls: {}, doStream })
    const absent = model(() => new Promise(() => {}))
    const part = { type: 'text-delta', id: 't', delta: 'word' }
    const silent = model(async () => ({ stream: new ReadableStream({ start: (c) => c.enqueue(part), pull: () => new Promise(() => {}) }) }))
    const start = (model, timeouts) => streamMessage({ model, timeouts, messages: [{ role: 'user', content: 'x' }] })
    ${awaited}`
  const run = promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module', '-e', lines], { timeout: 30_000 })
  return run.then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  )
}

describe('a script that awaits a call of a model without a socket', () => {
  const told = "console.log(error.kind + ' ' + error.code)"
  it.each([
    ['result(), before the first part', 'first-part', `const { error } = await start(absent, { firstPartMs: 50 }).result(); ${told}`],
    ['result(), in the middle', 'idle', `const { error } = await start(silent, { idleMs: 50 }).result(); ${told}`],
    [
      'the next event, before the first part',
      'total',
      `let error; for await (const event of start(absent, { totalMs: 50 })) error = event.message?.error; ${told}`,
    ],
    [
      'the next event, in the middle',
      'idle',
      `let error; for await (const event of start(silent, { idleMs: 50 })) error = event.message?.error; ${told}`,
    ],
    [
      'the next event, after a pause that no limit counted',
      'idle',
      `const events = start(silent, { idleMs: 50 })[Symbol.asyncIterator](); await events.next(); await new Promise((go) => setTimeout(go, 100));
       let error; for await (const event of { [Symbol.asyncIterator]: () => events }) error = event.message?.error; ${told}`,
    ],
  ])('L34: gets an error for the limit: %s', { timeout: 60_000 }, async (_, code, awaited) => {
    expect(await ending(awaited)).toMatchObject({ code: 0, stdout: `timeout ${code}\n` })
  })
})

describe('a process with many calls', () => {
  it('L27: exits without help, whatever the outcome of its calls', { timeout: 60_000 }, async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module', '-e', script], {
      // Far below the limits of the abandoned calls, which are minutes.
      timeout: 30_000,
    })
    const [said, exit] = stdout.trim().split('\n')
    const { reasons, listeners } = JSON.parse(said ?? '') as { reasons: string[]; listeners: number }
    expect(exit).toBe('exit 0')
    expect(stderr).toBe('')
    expect(listeners).toBe(0)
    expect(reasons).toHaveLength(160)
    expect(new Set(reasons)).toEqual(new Set(['stop', 'error', 'aborted']))
  })
})
