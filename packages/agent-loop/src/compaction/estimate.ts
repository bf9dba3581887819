import type { AssistantMessage, Message } from '@bowline/llm'
import type { ModelName } from '../events/types.ts'
import { addWeight, noWeight, sum, tokensOfWeight, weigh } from './weight.ts'
import type { Weight } from './weight.ts'

/** What a model has counted, and the weight of all that it had counted then. */
interface Measured {
  readonly tokens: number
  readonly weight: Weight
}

const firstTokensPerCharacter = 0.25
/** What is shorter says more about the provider's own additions than about the text. */
const shortestToLearnFrom = 1_000
const leastTokensPerCharacter = 0.05
const mostTokensPerCharacter = 2

/**
 * About how many tokens the next call sends: the last real usage of the model, and what has come since by its
 * characters. Work per message does not depend on the length of the conversation.
 */
export class ContextEstimate {
  #model: string
  #tokensPerCharacter: number
  #prompt = noWeight
  #extra = noWeight
  #shown = noWeight
  /** By model: another one reads the same text as another number of tokens. */
  readonly #measured = new Map<string, Measured>()

  constructor(model: ModelName, tokensPerCharacter = firstTokensPerCharacter) {
    this.#model = modelKey(model)
    this.#tokensPerCharacter = tokensPerCharacter
  }

  /** As real usage has shown it. */
  get tokensPerCharacter(): number {
    return this.#tokensPerCharacter
  }

  get tokens(): number {
    const measured = this.#measured.get(this.#model)
    if (!measured) return Math.ceil(this.tokensOf(this.#weight))
    const { characters, images } = this.#weight
    const since = { characters: characters - measured.weight.characters, images: images - measured.weight.images }
    return Math.max(0, Math.ceil(measured.tokens + this.tokensOf(since)))
  }

  /** By characters alone. */
  tokensOf(weight: Weight): number {
    return tokensOfWeight(weight, this.#tokensPerCharacter)
  }

  /** What the next call would send if `messages` were all that is shown: by characters alone. */
  tokensWith(messages: readonly Message[]): number {
    const shown = sum(messages.map(weigh))
    return Math.ceil(this.tokensOf(addWeight(addWeight(this.#prompt, this.#extra), shown)))
  }

  /** The model of the next call. */
  useModel(model: ModelName): void {
    this.#model = modelKey(model)
  }

  /** Instructions and declarations of tools, as they are sent from now on. */
  usePrompt(characters: number): void {
    this.#prompt = { characters, images: 0 }
  }

  /** What the next call sends besides: overlays and what is stored nowhere. */
  useExtra(messages: readonly Message[]): void {
    this.#extra = messages.length === 0 ? noWeight : sum(messages.map(weigh))
  }

  /** The next shown message. */
  append(message: Message): void {
    const before = this.#weight
    this.#shown = addWeight(this.#shown, weigh(message))
    if (message.role === 'assistant') this.#learn(message, before)
  }

  /** Other messages are shown. The usage of answers before `freshFrom` was that of another view. */
  restart(messages: readonly Message[], freshFrom: number): void {
    this.#measured.clear()
    this.#shown = sum(messages.slice(0, freshFrom).map(weigh))
    for (const message of messages.slice(freshFrom)) this.append(message)
  }

  get #weight(): Weight {
    return addWeight(addWeight(this.#prompt, this.#extra), this.#shown)
  }

  #learn(answer: AssistantMessage, sent: Weight): void {
    const { inputTokens, outputTokens, estimated } = answer.usage
    if (answer.stopReason === 'error' || estimated || !inputTokens) return
    const model = modelKey(answer)
    if (model === this.#model) this.#calibrate(inputTokens, sent)
    const output = outputTokens ?? this.tokensOf(weigh(answer))
    this.#measured.set(model, { tokens: inputTokens + output, weight: this.#weight })
  }

  #calibrate(inputTokens: number, sent: Weight): void {
    if (sent.characters < shortestToLearnFrom) return
    const ofText = inputTokens - tokensOfWeight({ ...sent, characters: 0 }, 0)
    const seen = ofText / sent.characters
    this.#tokensPerCharacter = Math.min(mostTokensPerCharacter, Math.max(leastTokensPerCharacter, seen))
  }
}

export function modelKey({ provider, modelId }: ModelName): string {
  return `${provider}/${modelId}`
}
