import {
  streamMessage,
  type AssistantMessage,
  type LanguageModelV4,
  type LanguageModelV4StreamPart,
  type MessageStream,
  type ModelRequest,
} from '../../src/index.ts'
import { manualClock, type ManualClock } from '../../src/testing/index.ts'
import { settle } from '../support.ts'
import type { Wire, WireOptions } from './wires.ts'

type PartType = LanguageModelV4StreamPart['type']

/** A call of a real client with a manual clock, and a view of the parts that it received. */
export interface ObservedCall {
  readonly stream: MessageStream
  readonly clock: ManualClock
  /** Resolves once the call has received this many parts of the type. The stream must be read meanwhile. */
  part(type: PartType, count?: number): Promise<void>
}

export function observedCall(wire: Wire, server: WireOptions, request: Partial<ModelRequest> = {}): ObservedCall {
  const clock = manualClock()
  const { model, part } = observed(wire.model(server))
  const messages = [{ role: 'user', content: 'hi' }] as const
  return { stream: streamMessage({ model, messages, clock, ...request }), clock, part }
}

/** Advances the clock in small steps until the call has ended. */
export async function passTime({ clock }: ObservedCall, result: Promise<AssistantMessage>): Promise<AssistantMessage> {
  const ended = Symbol('ended')
  const mark = result.then(() => ended)
  for (let step = 0; step < 1_000; step++) {
    if ((await Promise.race([mark, clock.advance(1_000)])) === ended) return result
  }
  throw new Error('the call outlived all time that was given to it')
}

/** Returns the value of a promise that settles without time passing, else `pending`. */
export async function now<T>(promise: Promise<T>): Promise<T | 'pending'> {
  return Promise.race([promise, settle().then(() => 'pending' as const)])
}

function observed(model: LanguageModelV4): { model: LanguageModelV4; part: ObservedCall['part'] } {
  const counts = new Map<PartType, number>()
  const waiting = new Set<() => void>()
  const count = (type: PartType): void => {
    counts.set(type, (counts.get(type) ?? 0) + 1)
    for (const resume of waiting) resume()
  }
  return {
    model: {
      specificationVersion: 'v4',
      provider: model.provider,
      modelId: model.modelId,
      supportedUrls: model.supportedUrls,
      doGenerate: (options) => model.doGenerate(options),
      async doStream(options) {
        const result = await model.doStream(options)
        const counting = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
          transform(part, controller) {
            controller.enqueue(part)
            count(part.type)
          },
        })
        return { ...result, stream: result.stream.pipeThrough(counting) }
      },
    },
    async part(type, wanted = 1) {
      while ((counts.get(type) ?? 0) < wanted) {
        await new Promise<void>((resolve) => void waiting.add(resolve))
        waiting.clear()
      }
      await settle()
    },
  }
}
