import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { median, type Bench } from './harness.ts'
import { percentile } from './sse-load.ts'

const starts = 9
const prompts = 10_000
const inFlight = 25
const prompt = 'Say it again.'

export const bench: Bench = {
  title: 'Over stdio',
  text: [
    '`bowline-bridge` as it is built, with an agent of its own process that gives back its prompt, and a client that speaks newline-delimited JSON-RPC and does nothing else. *First answer* is from',
    `the start of the process to the answer to \`initialize\`, *first delegation* to that of \`tasks_delegate\` behind it: medians of ${starts} starts. *Prompts* are ${prompts.toLocaleString('en')} calls of \`sessions_prompt\`, ${inFlight} in flight.`,
  ].join('\n'),
  async run() {
    const firsts: { readonly answerMs: number; readonly delegationMs: number }[] = []
    for (let place = 0; place < starts; place += 1) firsts.push(await firstAnswers())
    const { perSecond, tookMs } = await withBridge(promptLoad)
    return {
      head: ['first answer ms', 'first delegation ms', 'prompts/s', 'p50 ms', 'p99'],
      rows: [
        [
          ...[median(firsts.map((first) => first.answerMs)), median(firsts.map((first) => first.delegationMs))].map((ms) => ms.toFixed(0)),
          Math.round(perSecond).toLocaleString('en'),
          ...[0.5, 0.99].map((share) => percentile(tookMs, share).toFixed(2)),
        ],
      ],
    }
  },
}

type Call = (tool: string, input: object) => Promise<Readonly<Record<string, unknown>>>

async function firstAnswers(): Promise<{ readonly answerMs: number; readonly delegationMs: number }> {
  const startedAt = performance.now()
  return withBridge(async (call) => {
    const answerMs = performance.now() - startedAt
    await call('tasks_delegate', { prompt })
    return { answerMs, delegationMs: performance.now() - startedAt }
  })
}

async function promptLoad(call: Call): Promise<{ readonly perSecond: number; readonly tookMs: readonly number[] }> {
  const ids = await Promise.all(Array.from({ length: inFlight }, async () => (await call('sessions_create', {}))['sessionId'] as string))
  await promptAll(call, ids, prompts / 5)
  const startedAt = performance.now()
  const tookMs = await promptAll(call, ids, prompts)
  return { perSecond: (prompts / (performance.now() - startedAt)) * 1000, tookMs }
}

/** Sends prompts sequentially in each session, in all sessions concurrently. */
async function promptAll(call: Call, ids: readonly string[], count: number): Promise<readonly number[]> {
  const tookMs: number[] = []
  const each = async (sessionId: string): Promise<void> => {
    for (let place = 0; place < count / ids.length; place += 1) {
      const startedAt = performance.now()
      const { text } = await call('sessions_prompt', { sessionId, prompt })
      if (text !== prompt) throw new Error(`The echo said ${String(text)}`)
      tookMs.push(performance.now() - startedAt)
    }
  }
  await Promise.all(ids.map(each))
  return tookMs
}

/** Starts the command, initializes it, and ends it after the work. */
async function withBridge<T>(work: (call: Call) => Promise<T>): Promise<T> {
  const command = join(import.meta.dirname, '../../packages/bridge/dist/bin/bowline-bridge.js')
  if (!existsSync(command)) throw new Error('@bowline/bridge is not built: run npm run build first')
  const [useBuilt, config] = ['use-built.ts', 'bridge-stdio.config.ts'].map((file) => join(import.meta.dirname, file)) as [string, string]
  const args = ['--import', useBuilt, command, '--config', config, '--log-level', 'error']
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const waiting = new Map<number, (message: Message) => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as Message
    waiting.get(message.id)?.(message)
    waiting.delete(message.id)
  })
  let last = 0
  const ask = (method: string, params: object): Promise<Message> => {
    const id = ++last
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    return new Promise((resolve) => waiting.set(id, resolve))
  }
  try {
    await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '0' } })
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
    return await work(async (name, input) => structured(await ask('tools/call', { name, arguments: input })))
  } finally {
    child.stdin.end()
    await ended
  }
}

interface Message {
  readonly id: number
  readonly result?: { readonly structuredContent?: Readonly<Record<string, unknown>> }
}

function structured(message: Message): Readonly<Record<string, unknown>> {
  const content = message.result?.structuredContent
  if (!content) throw new Error(`The call failed: ${JSON.stringify(message)}`)
  return content
}
