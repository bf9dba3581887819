import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { bundledFlags } from '../../../../scripts/programs.ts'

/** Start of every script: a model that calls the tool once, a tool that never answers, and their agent. */
const prelude = `
  import { defineAgent, defineTool } from '@bowline/agent-loop'
  import { streamMessage } from '@bowline/llm'
  import { scriptedModel } from '@bowline/llm/testing'
  import { createOrchestration, createRuntime, memoryStateStore } from '@bowline/sessions'
  import { z } from 'zod'
  const usage = { inputTokens: {}, outputTokens: {} }
  const finish = { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage }
  const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }
  const never = () => new Promise(() => {})
  const modelOf = (stream) => ({ specificationVersion: 'v4', provider: 'p', modelId: 'm', supportedUrls: {}, doStream: async () => ({ stream: stream() }) })
  const callThenText = () => scriptedModel([{ toolCalls: [{ name: 'hang', input: {} }] }, { text: 'done' }])
  const hang = (options = {}) => defineTool({ name: 'hang', description: 'Hangs.', effect: 'idempotent', inputSchema: z.object({}), execute: never, ...options })
  const agentOf = (options = {}) => defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'done' }]), ...options })
  const hanging = (options) => agentOf({ model: callThenText(), tools: [hang(options)], abortGraceMs: 100 })
  const sessionOf = (agent, options) => createRuntime({ agents: [agent], ...options }).session('room:1')
  const until = async (run, type) => { for await (const event of run.events()) if (event.type === type) return }
`

/** Runs a script that awaits a call and then prints. It must not exit before, although only the call keeps it alive. */
export async function expectAwaited(script: string, said: unknown): Promise<void> {
  const program = `${prelude}
    const say = (value) => console.log(JSON.stringify(value))
    ${script}`
  const run = promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module', '--eval', program], {
    cwd: join(import.meta.dirname, '..', '..'),
    timeout: 25_000,
  })
  const ended = await run.then(
    (output) => ({ ...output, code: 0 }),
    (error: { readonly code: number | null; readonly stdout: string; readonly stderr: string }) => error,
  )
  expect({ said: ended.stdout.trim(), code: ended.code, stderr: ended.stderr }).toMatchObject({ said: JSON.stringify(said), code: 0 })
}
