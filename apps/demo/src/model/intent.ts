/** One thing that the offline model understands. */
export interface Intent {
  readonly name: string
  readonly keyWords: RegExp
  /** Must be a pure function of the question. */
  answer(question: Question): readonly Passage[]
}

export interface Question {
  /** The last user message. */
  readonly text: string
  /** Results that arrived since then, in call order. */
  readonly results: readonly ToolAnswer[]
  /** Whether the model that is asked takes over for another one that has failed. */
  readonly isSpare: boolean
}

export interface ToolAnswer {
  readonly toolName: string
  readonly outcome: 'result' | 'error' | 'denied'
  /** JSON where the tool gave JSON, else text. */
  readonly value: unknown
}

export type Passage =
  /** `delayMs` is the time before each piece of it. Default: that of the model's rhythm. */
  | { readonly type: 'reasoning' | 'text'; readonly text: string; readonly delayMs?: number }
  | { readonly type: 'call'; readonly toolName: string; readonly input: Readonly<Record<string, unknown>> }
  /** Ends the answer as a provider that fails does. */
  | { readonly type: 'failure'; readonly status: number; readonly message: string }

/** Returns the fields of a JSON object, and none for anything else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** Returns a text as it is, and nothing for anything else. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns what a tool said that gave no result, on one line. */
export function reasonOf({ value }: ToolAnswer): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' ').slice(0, 300)
}
