import { defineAgent, defineTool, type Agent, type AgentEvent, type AgentOptions } from '@bowline/agent-loop'
import { z } from 'zod'
import { nothingSeen, toolDescription, toolName, type Contender, type Prepared, type Seen, type Watch } from '../contender.ts'
import { answersModel, drain } from '../models.ts'

export const packageUrl = import.meta.resolve('@bowline/agent-loop')

/** Bowline with a model of the AI SDK. */
export const contender: Contender = {
  packageUrl,
  prepare(answers) {
    const model = answersModel(answers)
    return prepareAgent(contenderAgent(model, answers.length), (watch) => drain(model, watch))
  },
}

/** Creates the agent of all Bowline contenders, with a limit of this number of steps. */
export function contenderAgent(model: AgentOptions['model'], steps: number, result = 'done'): Agent {
  const write = defineTool({
    name: toolName,
    description: toolDescription,
    inputSchema: z.object({ text: z.string() }),
    execute: () => result,
  })
  return defineAgent({ name: 'contender', model, tools: [write], limits: { maxSteps: steps + 1, maxToolCalls: steps + 1 } })
}

export function prepareAgent(agent: Agent, bare: Prepared['bare']): Prepared {
  return {
    bare,
    run: (watch) => readRun(agent.run('go'), watch),
    async runWithReaders(readers) {
      const run = agent.run('go')
      return Promise.all(Array.from({ length: readers }, () => readRun(run, {})))
    },
  }
}

interface ReadableRun extends AsyncIterable<AgentEvent> {
  result(): Promise<{ readonly status: string; readonly error?: { readonly message: string } }>
}

/** Reads every event of a run, which must complete. */
export async function readRun(run: ReadableRun, watch: Watch): Promise<Seen> {
  const seen = nothingSeen()
  for await (const event of run) count(event, seen, watch)
  const { status, error } = await run.result()
  if (status !== 'completed') throw new Error(`The turn ended as ${status}: ${error?.message}`)
  return seen
}

function count(event: AgentEvent, seen: Seen, { onText, onToolResult }: Watch): void {
  if (event.type === 'text-delta') {
    seen.textDeltas += 1
    onText?.()
  } else if (event.type === 'tool-call-delta') {
    seen.argumentDeltas += 1
  } else if (event.type === 'tool-execution-end' && event.message.status === 'result') {
    seen.toolResults += 1
    onToolResult?.()
  }
}
