/** What a scripted model says in one step: so many text deltas, then one tool call whose arguments come in so many deltas. */
export interface Answer {
  readonly text?: number
  readonly arguments?: number
}

/** What a reader saw of one turn, event by event. */
export interface Seen {
  textDeltas: number
  argumentDeltas: number
  toolResults: number
}

export interface Watch {
  /** Called at each text delta, in the reader. */
  readonly onText?: () => void
  /** Called at each tool result, in the reader. */
  readonly onToolResult?: () => void
}

/** Why a contender cannot do some work. */
export interface Unable {
  readonly unable: string
}

/** An agent with one tool, `write`, whose model gives scripted answers. Made once, run any number of times, also at once. */
export interface Prepared {
  /** Must run one turn on a conversation of its own, from the input to its end, and read every event of it. */
  run(watch: Watch): Promise<Seen>
  /** Must read the first answer of the same model to its end, with nothing around it. */
  bare(watch: Watch): Promise<void>
  /** Must run one turn as `run` does, with so many readers who read every event of it each. */
  readonly runWithReaders: ((readers: number) => Promise<readonly Seen[]>) | Unable
}

/** The same, with every turn in a file. Opened once, run any number of times, also at once. */
export interface Opened {
  /** Must run one turn as `Prepared.run` does, on a new conversation with this id, and have stored it when it is over. */
  run(id: string, watch: Watch): Promise<Seen>
  /** Must count the tool results that the file has of this conversation. */
  storedToolResults(id: string): Promise<number>
  /** Must let go of the file. */
  close(): Promise<void>
}

/** Something that can run turns: one file per contender, which exports it as `contender`. */
export interface Contender {
  /** The module that users import, as `import.meta.resolve` gives it. */
  readonly packageUrl: string
  prepare(answers: readonly Answer[]): Prepared
}

/** Something that stores the turns that it runs: one file per contender, which exports it as `contender`. */
export interface DurableContender {
  /**
   * Opens the SQLite file, which need not be there, or the database of this URL, which need not have any tables. The tool
   * answers with `storedResult`.
   */
  open(answers: readonly Answer[], place: string): Promise<Opened>
}

export const toolName = 'write'
export const toolDescription = 'Writes a text'
export const textDelta = 'knot'
const argumentDeltaCharacters = 12
/** A call whose arguments and result are 300 bytes together: 144 of twelve deltas, and the rest. */
export const storedCall: Answer = { arguments: 12 }
export const storedResult = 'r'.repeat(156)

/** The whole arguments of a call, `{"text":"…"}`, of twelve characters per delta. */
export function argumentsText(deltas: number): string {
  return `{"text":"${'x'.repeat(deltas * argumentDeltaCharacters - 11)}"}`
}

export function argumentDelta(text: string, position: number): string {
  return text.slice(position * argumentDeltaCharacters, (position + 1) * argumentDeltaCharacters)
}

export function nothingSeen(): Seen {
  return { textDeltas: 0, argumentDeltas: 0, toolResults: 0 }
}

/** What a reader that misses nothing must have seen of a turn. */
export function allOf(answers: readonly Answer[]): Seen {
  const seen = nothingSeen()
  for (const answer of answers) {
    seen.textDeltas += answer.text ?? 0
    seen.argumentDeltas += answer.arguments ?? 0
    if (answer.arguments !== undefined) seen.toolResults += 1
  }
  return seen
}

/** The answer to a request whose prompt has so many tool results. */
export function answerAfter(answers: readonly Answer[], toolResults: number): Answer {
  const answer = answers[toolResults]
  if (answer === undefined) throw new Error(`The script has no answer after ${toolResults} tool results`)
  return answer
}

/** Counts the messages of one role: how a model without memory knows where in the script it is. */
export function countRole(messages: readonly { readonly role?: unknown }[], role: string): number {
  let count = 0
  for (const message of messages) if (message.role === role) count += 1
  return count
}

/** One value per read and nothing behind it: the cheapest source that a reader can have. */
export function valuesOf<Value>(length: number, valueAt: (position: number) => Value): AsyncIterableIterator<Value, undefined> {
  let next = 0
  return {
    next: () => Promise.resolve(next < length ? { value: valueAt(next++), done: false } : { value: undefined, done: true }),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Offset 0 of a block is its start, then come its deltas, and its end is last. */
export interface AnswerEvents<Event> {
  first(): Event
  text(offset: number): Event
  call(offset: number): Event
  last(): Event
}

/** The events of an answer in their order, for seams that have start and end of a block. */
export function eventsOf<Event>(answer: Answer, events: AnswerEvents<Event>): AsyncIterableIterator<Event, undefined> {
  const textLength = answer.text === undefined ? 0 : answer.text + 2
  const callLength = answer.arguments === undefined ? 0 : answer.arguments + 2
  const lastAt = 1 + textLength + callLength
  return valuesOf(lastAt + 1, (position) => {
    if (position === 0) return events.first()
    if (position === lastAt) return events.last()
    return position <= textLength ? events.text(position - 1) : events.call(position - 1 - textLength)
  })
}
