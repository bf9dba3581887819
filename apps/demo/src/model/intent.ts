/** One thing that the offline model understands. */
export interface Intent {
  readonly name: string
  readonly keyWords: RegExp
  /** Must be a pure function of what was asked and of the results so far. */
  answer(question: Question): readonly Passage[]
}

export interface Question {
  /** The last user message. */
  readonly text: string
  /** Results that arrived since then, in call order. */
  readonly results: readonly ToolAnswer[]
}

export interface ToolAnswer {
  readonly toolName: string
  readonly outcome: 'result' | 'error' | 'denied'
  /** JSON where the tool gave JSON, else text. */
  readonly value: unknown
}

export type Passage =
  | { readonly type: 'reasoning' | 'text'; readonly text: string }
  | { readonly type: 'call'; readonly toolName: string; readonly input: Readonly<Record<string, unknown>> }
