import type { AssistantMessage, ToolCallPart } from '@bowline/llm'
import type { Transcript } from '../transcript/transcript.ts'
import type { ModelAnswer } from './answer.ts'

/** The ids of the calls of one answer. Some providers count them anew in each answer: an id that was used is changed. */
export class CallIds {
  readonly #transcript: Transcript
  readonly #byIndex = new Map<number, string>()
  readonly #given = new Map<string, string>()
  readonly #taken = new Set<string>()

  constructor(transcript: Transcript) {
    this.#transcript = transcript
  }

  /** Of a call that begins in the block `index`. */
  open(index: number, given: string, providerExecuted: boolean): string {
    const id = providerExecuted ? given : this.idFor(given)
    this.#byIndex.set(index, id)
    return id
  }

  at(index: number): string {
    return this.#byIndex.get(index) ?? ''
  }

  rename(call: ToolCallPart): ToolCallPart {
    if (call.providerExecuted) return call
    const toolCallId = this.idFor(call.toolCallId)
    return toolCallId === call.toolCallId ? call : { ...call, toolCallId }
  }

  /** The answer under the ids by which its calls are known. */
  renamed({ message, results }: ModelAnswer): ModelAnswer {
    return { message: this.renameIn(message), results: new Map([...results].map(([id, result]) => [this.idFor(id), result])) }
  }

  renameIn(message: AssistantMessage): AssistantMessage {
    const content = message.content.map((part) => (part.type === 'tool-call' ? this.rename(part) : part))
    return content.every((part, place) => part === message.content[place]) ? message : { ...message, content }
  }

  idFor(given: string): string {
    const known = this.#given.get(given)
    if (known !== undefined) return known
    const id = this.#transcript.freeCallId(given, (candidate) => this.#taken.has(candidate))
    this.#given.set(given, id)
    this.#taken.add(id)
    return id
  }
}
