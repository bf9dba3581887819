/** One request that the offline model understands. */
export interface Intent {
  readonly name: string
  readonly keyWords: RegExp
  /** Returns the answer. Must be a pure function of the question. */
  answer(question: Question): readonly Passage[]
}

export interface Question {
  /** Last user message. */
  readonly text: string
  /** Tool results since that message, in call order. */
  readonly results: readonly ToolAnswer[]
  /** True if this model replaces one that has failed. */
  readonly isSpare: boolean
}

export interface ToolAnswer {
  readonly toolName: string
  readonly outcome: 'result' | 'error' | 'denied'
  /** JSON if the tool returned JSON, else text. */
  readonly value: unknown
}

export type Passage =
  /** `delayMs` is the delay before each piece. Default: the rhythm of the model. */
  | { readonly type: 'reasoning' | 'text'; readonly text: string; readonly delayMs?: number }
  | { readonly type: 'call'; readonly toolName: string; readonly input: Readonly<Record<string, unknown>> }
  /** Ends the answer like a failing provider. */
  | { readonly type: 'failure'; readonly status: number; readonly message: string }

/** Returns the fields of a JSON object. Returns an empty object for other values. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** Returns a text unchanged. Returns an empty text for other values. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns in one line why a tool gave no result. */
export function reasonOf({ value }: ToolAnswer): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' ').slice(0, 300)
}
