import type { AssistantPart, ContentPart, JSONValue, Message, ToolOutput } from '@bowline/llm'

/** What of a message a model has to read. */
export interface Weight {
  readonly characters: number
  /** Images, and files whose text is not known. */
  readonly images: number
}

export const noWeight: Weight = { characters: 0, images: 0 }

const tokensPerImage = 1_200

export function addWeight(a: Weight, b: Weight): Weight {
  return { characters: a.characters + b.characters, images: a.images + b.images }
}

export function tokensOfWeight({ characters, images }: Weight, tokensPerCharacter: number): number {
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
    default: {
      const unknown: never = message
      return unknown
    }
  }
}

export function sum(weights: readonly Weight[]): Weight {
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
      return addWeight(text(part.toolName), part.inputText === undefined ? json(part.input) : text(part.inputText))
    case 'tool-result':
      return json(part.result)
    case 'file':
    case 'reasoning-file':
      return weighContent({ ...part, type: 'file' })
    case 'source':
    case 'custom':
    case 'approval-request':
      return noWeight
    default: {
      const unknown: never = part
      return unknown
    }
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
    default: {
      const unknown: never = output
      return unknown
    }
  }
}

function weighContent(part: ContentPart): Weight {
  if (part.type === 'text') return text(part.text)
  const isText = part.mediaType.startsWith('text/') && part.data.type === 'data'
  // Four characters of base64 are three of the file.
  return isText ? { characters: Math.ceil((part.data.data.length * 3) / 4), images: 0 } : { characters: 0, images: 1 }
}

function text(value: string): Weight {
  return { characters: value.length, images: 0 }
}

function json(value: JSONValue): Weight {
  return text(JSON.stringify(value))
}
