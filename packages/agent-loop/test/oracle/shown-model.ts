import type { AnyLanguageModel } from '@bowline/llm'
import type { ScriptedModel } from '@bowline/llm/testing'
import type { OracleWorld } from './oracle-world.ts'
import { show } from './trace.ts'

type DoStream = ScriptedModel['doStream']
type Parts = Awaited<ReturnType<DoStream>>['stream']

/**
 * Returns the model with its calls noted. Models of subagents answer at a time of their own, so that two of them never go on at
 * once. In a timed script a stream pauses before its end, so that readers have seen its deltas by then.
 */
export function shownModel(world: OracleWorld, model: ScriptedModel): AnyLanguageModel {
  const doStream: DoStream = async (options) => {
    const { abortSignal, ...request } = options
    world.trace.reached(`model ${model.modelId}`)
    world.trace.add('calls', `model ${model.modelId} ${abortSignal?.aborted}\t${show(request)}`)
    world.moment()
    if (model.modelId === 'child' || world.extras.timed) await world.sleep(world.briefDelay())
    const answer = await model.doStream(options)
    return world.extras.timed ? { ...answer, stream: pausedAtEnd(answer.stream, () => (abortSignal?.aborted ? Promise.resolve() : world.sleep(world.briefDelay()))) } : answer
  }
  return { ...model, doStream }
}

function pausedAtEnd(stream: Parts, pause: () => Promise<void>): Parts {
  const reader = stream.getReader()
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (done || value.type === 'finish' || value.type === 'error') await pause()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          await pause()
          controller.error(error)
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
