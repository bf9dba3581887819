import type { AssistantMessage, AssistantPart, ContentPart, JSONValue, Message, ToolOutput } from '@bowline/llm'
import type { ModelName } from '../events/turn-events.ts'
import type { View } from './view.ts'

/** Size of the parts of a message that a model has to read. */
interface Weight {
  readonly characters: number
  /** Number of images, and of files whose text is not known. */
  readonly images: number
}

const noWeight: Weight = { characters: 0, images: 0 }

/** Tokens that a model has counted, and the weight of the counted content. */
interface Measured {
  readonly tokens: number
  readonly weight: Weight
}

const nothing: Measured = { tokens: 0, weight: noWeight }

const tokensPerImage = 1_200
const firstTokensPerCharacter = 0.25
/** Shorter text says more about the provider's own additions than about the text. */
const shortestToLearnFrom = 1_000
const leastTokensPerCharacter = 0.05
const mostTokensPerCharacter = 2

/**
 * Estimates the tokens of the next call: the last real usage of the model, plus newer content by its characters. The work per
 * message does not depend on the length of the conversation.
 */
export class ContextEstimate {
  #model: string
  #tokensPerCharacter: number = firstTokensPerCharacter
  /** Absent until it is known. Usage that was reported before contains it anyway. */
  #prompt: Weight | undefined
  /** The last count; undefined if anything has changed since. */
  #tokens: number | undefined
  #beside = noWeight
  #extra = noWeight
  #shown = noWeight
  /** Counts by model: another model reads the same text as another number of tokens. */
  readonly #measured = new Map<string, Measured>()
  /** The request from which on tokens per character are measured. */
  #reference: Measured | undefined

  constructor(model: ModelName) {
    this.#model = modelKey(model)
  }

  /** Tokens per character, as real usage has shown them. */
  get tokensPerCharacter(): number {
    return this.#tokensPerCharacter
  }

  get tokens(): number {
    return (this.#tokens ??= this.#count())
  }

  #count(): number {
    const { tokens, weight } = this.#measured.get(this.#model) ?? nothing
    return Math.max(0, Math.ceil(tokens + this.tokensOf(difference(this.#weight, weight))))
  }

  /** Estimates by characters alone. */
  tokensOf(weight: Weight): number {
    return tokensOfWeight(weight, this.#tokensPerCharacter)
  }

  /** Estimates, by characters alone, the tokens of the next call if it showed only `messages`. */
  tokensWith(messages: readonly Message[]): number {
    const shown = sum(messages.map(weigh))
    return Math.ceil(this.tokensOf(sum([this.#prompt ?? noWeight, this.#extra, shown])))
  }

  /** Sets the model of the next call. */
  useModel(model: ModelName): void {
    const key = modelKey(model)
    if (key === this.#model) return
    this.#tokens = undefined
    this.#model = key
    this.#learnAnew()
  }

  /** Sets the size of the instructions and tool declarations that are sent from now on. */
  usePrompt(characters: number): void {
    this.#tokens = undefined
    const prompt = { characters, images: 0 }
    const isFirst = this.#prompt === undefined
    this.#prompt = prompt
    if (!isFirst) return
    for (const [model, { tokens, weight }] of this.#measured) {
      this.#measured.set(model, { tokens, weight: sum([weight, prompt]) })
    }
    this.#learnAnew()
  }

  /** Sets the messages that the next call sends besides the transcript. */
  useExtra(messages: readonly Message[]): void {
    this.#tokens = undefined
    this.#beside = messages.length === 0 ? noWeight : sum(messages.map(weigh))
    this.#extra = this.#beside
  }

  /** Sets the further messages of one call, which are not stored. */
  useEphemeral(messages: readonly Message[]): void {
    this.#tokens = undefined
    this.#extra = sum([this.#beside, ...messages.map(weigh)])
  }

  /** Adds the next shown message. */
  append(message: Message): void {
    this.#tokens = undefined
    const weight = weigh(message)
    if (message.role === 'assistant') this.#learn(message, weight)
    this.#shown = sum([this.#shown, weight])
  }

  /** Starts again, because other messages are shown. Usage of answers before `freshFrom` belongs to another view. */
  restart({ messages, freshFrom }: Pick<View, 'messages' | 'freshFrom'>): void {
    this.#tokens = undefined
    this.#measured.clear()
    this.#learnAnew()
    this.#shown = sum(messages.slice(0, freshFrom).map(weigh))
    for (const message of messages.slice(freshFrom)) this.append(message)
  }

  /** Begins with what another estimate knows of the same messages. Returns false if it is for another model. */
  take(known: ContextEstimate): boolean {
    if (known.#model !== this.#model) return false
    this.#tokensPerCharacter = known.#tokensPerCharacter
    this.#shown = known.#shown
    this.#reference = known.#reference
    for (const [model, measured] of known.#measured) this.#measured.set(model, measured)
    return true
  }

  get #weight(): Weight {
    const [prompt, extra, shown] = [this.#prompt ?? noWeight, this.#extra, this.#shown]
    return { characters: prompt.characters + extra.characters + shown.characters, images: prompt.images + extra.images + shown.images }
  }

  #learn(answer: AssistantMessage, weight: Weight): void {
    const { inputTokens, outputTokens, estimated } = answer.usage
    if (answer.stopReason === 'error' || estimated || !inputTokens) return
    const model = modelKey(answer)
    const sent = this.#weight
    if (model === this.#model) this.#calibrate({ tokens: inputTokens, weight: sent })
    const output = outputTokens ?? this.tokensOf(weight)
    this.#measured.set(model, { tokens: inputTokens + output, weight: sum([sent, weight]) })
  }

  /** Measures the whole request if the prompt is known, else the growth since the first request. */
  #calibrate(request: Measured): void {
    const from = this.#reference
    // Fewer tokens for more text: the earlier request had another view.
    if (!from || request.tokens < from.tokens) return void (this.#reference = request)
    const { characters, images } = difference(request.weight, from.weight)
    if (characters < shortestToLearnFrom) return
    const ofText = request.tokens - from.tokens - tokensOfWeight({ characters: 0, images }, 0)
    this.#tokensPerCharacter = Math.min(mostTokensPerCharacter, Math.max(leastTokensPerCharacter, ofText / characters))
  }

  #learnAnew(): void {
    this.#reference = this.#prompt && nothing
  }
}

export function modelKey({ provider, modelId }: ModelName): string {
  return `${provider}/${modelId}`
}

function difference(a: Weight, b: Weight): Weight {
  return { characters: a.characters - b.characters, images: a.images - b.images }
}

function tokensOfWeight({ characters, images }: Weight, tokensPerCharacter: number): number {
  return characters * tokensPerCharacter + images * tokensPerImage
}

export function weigh(message: Message): Weight {
  switch (message.role) {
    case 'user':
      return typeof message.content === 'string' ? text(message.content) : sum(message.content.map(weighContent))
    case 'assistant':
      return sum(message.content.map(weighPart))
    case 'tool-result':
      return weighOutput(message.output)
    default:
      return message satisfies never
  }
}

function sum(weights: readonly Weight[]): Weight {
  let [characters, images] = [0, 0]
  for (const weight of weights) {
    characters += weight.characters
    images += weight.images
  }
  return { characters, images }
}

function weighPart(part: AssistantPart): Weight {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return text(part.text)
    case 'tool-call':
      return sum([text(part.toolName), part.inputText === undefined ? json(part.input) : text(part.inputText)])
    case 'tool-result':
      return json(part.result)
    case 'file':
    case 'reasoning-file':
      return weighContent({ ...part, type: 'file' })
    case 'source':
    case 'custom':
    case 'approval-request':
      return noWeight
    default:
      return part satisfies never
  }
}

function weighOutput(output: ToolOutput): Weight {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return text(output.value)
    case 'json':
    case 'error-json':
      return json(output.value)
    case 'execution-denied':
      return text(output.reason ?? '')
    case 'content':
      return sum(output.value.map(weighContent))
    default:
      return output satisfies never
  }
}

function weighContent(part: ContentPart): Weight {
  if (part.type === 'text') return text(part.text)
  const isText = part.mediaType.startsWith('text/') && part.data.type === 'data'
  // Four characters of base64 are three bytes of the file.
  return isText ? { characters: Math.ceil((part.data.data.length * 3) / 4), images: 0 } : { characters: 0, images: 1 }
}

function text(value: string): Weight {
  return { characters: value.length, images: 0 }
}

function json(value: JSONValue): Weight {
  return text(JSON.stringify(value))
}
