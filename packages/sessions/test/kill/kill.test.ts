import { checkEvents, checkTranscript } from '@bowline/testing'
import { createRuntime, type LoggedEvent } from '@bowline/sessions'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collect, setup, types } from '../support.ts'
import { storeAt } from '../fixtures/store-at.ts'
import { workerAgent } from '../fixtures/worker-agent.ts'
import { Workplace, type WorkerMessage } from './worker-process.ts'

const isSlowStart = (message: WorkerMessage): boolean => message.type === 'slow-started'
const isEndOf = (toolCallId: string) => (message: WorkerMessage) =>
  message.type === 'event' && message.event.type === 'tool-execution-end' && message.event.toolCallId === toolCallId

// Each test starts two or three processes.
vi.setConfig({ testTimeout: 60_000 })

describe.each(['data.db', 'files'])('a process killed with SIGKILL, over %s', (storeName) => {
  let place: Workplace
  beforeEach(() => {
    place = new Workplace(storeName)
  })
  afterEach(() => place.remove())

  /** Reads the whole log and transcript in a third process, and checks them for gaps and grammar. */
  async function readBack(): Promise<{ log: LoggedEvent[]; roles: string[]; status: string | undefined }> {
    const { runtime } = setup({ steps: [], store: storeAt(place.store), concurrency: 0 })
    await runtime.start()
    const session = runtime.session('room:1')
    const log = await collect(session.events({ live: false }))
    const { items } = await session.messages()
    const info = await session.info()
    await runtime.stop()
    expect(log.map((event) => ('seq' in event ? event.seq : 0))).toEqual(log.map((_, index) => index + 1))
    expect(checkEvents(log)).toEqual([])
    expect(checkTranscript(items, { openCalls: info?.status === 'needs-recovery' })).toEqual([])
    return { log, roles: items.map((message) => message.role), status: info?.status }
  }

  async function killInSlowTool(effect: string): Promise<void> {
    const worker = place.start(effect)
    const seen = await worker.readUntil(isSlowStart)
    // The outcome of the quick tool is durable before the kill.
    if (!seen.some(isEndOf('call-quick'))) await worker.readUntil(isEndOf('call-quick'))
    await worker.kill()
  }

  it.each(['pure', 'idempotent'])(
    'S60, S75, S78: in the middle of a slow %s tool: the next process resumes the run, the slow tool runs again under its key, the finished one does not',
    async (effect) => {
      await killInSlowTool(effect)
      const worker = place.start(effect)
      const [started] = await worker.readUntil((message) => message.type === 'started')
      expect(started).toMatchObject({ recovered: 1 })
      const events = await worker.eventsUntil('settled')
      await worker.kill()

      expect(place.effects('quick')).toHaveLength(1)
      const slow = place.effects('slow')
      expect(slow.map((line) => line.attempt)).toEqual([1, 2])
      expect(new Set(slow.map((line) => line.idempotencyKey)).size).toBe(1)
      expect(events.find((event) => event.type === 'turn-start' && event.resumed)).toMatchObject({ cause: 'takeover' })
      const { roles, status, log } = await readBack()
      expect(roles).toEqual(['user', 'assistant', 'tool-result', 'tool-result', 'assistant'])
      expect(status).toBe('completed')
      expect(types(log).filter((type) => type === 'tool-execution-end')).toHaveLength(2)
    },
  )

  it('S78, S79: in the middle of a slow once tool: it is never run again, and the run asks for its outcome', async () => {
    await killInSlowTool('once')
    const worker = place.start('once')
    const events = await worker.readUntil(
      (message) => message.type === 'event' && message.event.type === 'turn-end' && message.event.status === 'needs-recovery',
    )
    expect(events.length).toBeGreaterThan(0)
    await worker.kill()
    expect(place.effects('slow')).toHaveLength(1)
    expect((await readBack()).status).toBe('needs-recovery')
  })

  it.each([
    { resolution: { result: 'it went through' }, status: 'result', text: 'it went through' },
    { resolution: { error: 'it failed' }, status: 'error', text: 'it failed' },
    { resolution: { unknown: true }, status: 'unknown', text: 'may or may not' },
  ] as const)('S81, S82: the doubtful call is resolved as $status and the run goes on', async ({ resolution, status, text }) => {
    await killInSlowTool('once')
    const { runtime, session } = await takeUp()
    const run = await session.resolveTool('call-slow', resolution)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'all is done' })
    // Answering again changes nothing.
    const before = await session.info()
    await session.resolveTool('call-slow', resolution)
    expect(await session.info()).toEqual(before)
    const outcome = (await session.messages()).items.find((message) => message.role === 'tool-result' && message.toolCallId === 'call-slow')
    expect(outcome).toMatchObject({ status })
    expect(JSON.stringify(outcome)).toContain(text)
    await runtime.stop()
    expect(place.effects('slow')).toHaveLength(1)
    await readBack()
  })

  it('S81: runAgain runs the doubtful call once more under the same key', async () => {
    await killInSlowTool('once')
    const { runtime, session } = await takeUp()
    const run = await session.resolveTool('call-slow', { runAgain: true })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'all is done' })
    await runtime.stop()
    expect(place.effects('quick')).toHaveLength(1)
    expect(new Set(place.effects('slow').map((line) => line.idempotencyKey)).size).toBe(1)
    expect(place.effects('slow').map((line) => line.attempt)).toEqual([1, 2])
    await readBack()
  })

  it('S14: right after send has resolved: the next process answers the input', async () => {
    const worker = place.start('pure', 'accept-only')
    await worker.readUntil((message) => message.type === 'accepted')
    await worker.kill()
    const next = place.start('pure', 'text')
    const events = await next.eventsUntil('settled')
    expect(types(events)).toContain('user-message')
    await next.kill()
    expect((await readBack()).roles).toEqual(['user', 'assistant'])
  })

  it('S70, S124: in the middle of an answer: the partial message is discarded and made again, with one turn-end', async () => {
    const worker = place.start('pure', 'hang-model')
    const half = await worker.eventsUntil('text-delta')
    await worker.kill()
    const next = place.start('pure', 'text')
    await next.eventsUntil('settled')
    await next.kill()
    const { log, roles } = await readBack()
    const started = half.find((event) => event.type === 'message-start')
    expect(log.find((event) => event.type === 'message-discarded')).toMatchObject({
      messageId: started?.messageId,
      reason: 'crash',
    })
    expect(types(log).filter((type) => type === 'turn-end')).toHaveLength(1)
    expect(roles).toEqual(['user', 'assistant'])
  })

  it('S36, S167: stopped with SIGSTOP instead: no process can take its store over, and with SIGCONT it goes on', async () => {
    const worker = place.start('pure', 'text')
    await worker.readUntil((message) => message.type === 'started')
    worker.stop()
    await expect(place.start('pure', 'text').readUntil((message) => message.type === 'started')).rejects.toThrow('store-locked')
    worker.goOn()
    await worker.eventsUntil('settled')
    await worker.kill()
    expect((await readBack()).roles).toEqual(['user', 'assistant'])
  })

  /** Takes the run over in this process and waits until it asks for help. */
  async function takeUp() {
    const agent = workerAgent({ effects: place.effectsFile, effect: 'once', mode: 'serve', onSlowStart: () => undefined })
    const runtime = createRuntime({ agents: [agent], store: storeAt(place.store) })
    await runtime.start()
    const session = runtime.session('room:1')
    const [open] = (await session.runs()).items
    if (!open) throw new Error('the run is gone')
    await collect(session.events({ runId: open.runId }))
    expect(await session.info()).toMatchObject({
      status: 'needs-recovery',
      openRun: { status: 'needs-recovery', pendingToolCalls: [{ toolCallId: 'call-slow', unknown: true }] },
    })
    return { runtime, session }
  }
})
