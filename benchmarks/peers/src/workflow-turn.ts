import { nothingSeen, storedResult, type Answer, type Seen, type Watch } from '../../src/contender.ts'
import { answersModel } from '../../src/models.ts'

/** Runs this work once and stores its result under the name. Later calls return the stored result. */
export type DurableStep = <T>(name: string, work: () => Promise<T>) => Promise<T>

export const toolStep = 'tool'

interface Call {
  readonly toolCallId: string
  readonly input: string
}

/** Runs the loop of an agent as users of a workflow engine write it: each model answer is a step, and each tool is a step. */
export async function runTurn(answers: readonly Answer[], watch: Watch, step: DurableStep): Promise<Seen> {
  const model = answersModel(answers)
  const seen = nothingSeen()
  const prompt: Parameters<typeof model.doStream>[0]['prompt'] = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }]
  for (;;) {
    const call = await step('model', () => readAnswer(model, prompt, seen, watch))
    if (!call) return seen
    const value = await step(toolStep, () => Promise.resolve(storedResult))
    seen.toolResults += 1
    watch.onToolResult?.()
    prompt.push({ role: 'tool', content: [{ type: 'tool-result', toolCallId: call.toolCallId, toolName: 'write', output: { type: 'text', value } }] })
  }
}

type Model = ReturnType<typeof answersModel>

async function readAnswer(model: Model, prompt: Parameters<Model['doStream']>[0]['prompt'], seen: Seen, watch: Watch): Promise<Call | null> {
  const { stream } = await model.doStream({ prompt })
  let call: Call | null = null
  for await (const part of stream) {
    if (part.type === 'text-delta') {
      seen.textDeltas += 1
      watch.onText?.()
    } else if (part.type === 'tool-input-delta') {
      seen.argumentDeltas += 1
    } else if (part.type === 'tool-call') {
      call = { toolCallId: part.toolCallId, input: part.input }
    }
  }
  return call
}
