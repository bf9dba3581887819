/** Scripted answer of a model in one step: the number of text deltas, then one tool call with this number of argument deltas. */
export interface Answer {
  readonly text?: number
  readonly arguments?: number
}

/** Numbers of events of each kind that a reader got in one turn. */
export interface Seen {
  textDeltas: number
  argumentDeltas: number
  toolResults: number
}

export interface Watch {
  /** Called in the reader at each text delta. */
  readonly onText?: () => void
  /** Called in the reader at each tool result. */
  readonly onToolResult?: () => void
}

/** Reason why a contender cannot do some work. */
export interface Unable {
  readonly unable: string
}

/** Agent with one tool, `write`, whose model gives scripted answers. Created once, run any number of times, also concurrently. */
export interface Prepared {
  /** Must run one turn in a new conversation from its input to its end, and read every event of it. */
  run(watch: Watch): Promise<Seen>
  /** Must read the first answer of the same model to its end, without an agent. */
  bare(watch: Watch): Promise<void>
  /** Must run one turn like `run`, with this number of readers that each read every event. */
  readonly runWithReaders: ((readers: number) => Promise<readonly Seen[]>) | Unable
}

/** Agent that stores every turn in a file. Opened once, run any number of times, also concurrently. */
export interface Opened {
  /** Must run one turn like `Prepared.run` in a new conversation with this id, and must store it before it resolves. */
  run(id: string, watch: Watch): Promise<Seen>
  /** Must count the stored tool results of this conversation. */
  storedToolResults(id: string): Promise<number>
  /** Must close the file. */
  close(): Promise<void>
}

/** Library that runs turns. Each contender has one file, which exports it as `contender`. */
export interface Contender {
  /** Module that users import, as returned by `import.meta.resolve`. */
  readonly packageUrl: string
  prepare(answers: readonly Answer[]): Prepared
}

/** Library that stores the turns that it runs. Each contender has one file, which exports it as `contender`. */
export interface DurableContender {
  /**
   * Opens the SQLite file, which may not exist yet, or the database of this URL, which may have no tables. The tool must return
   * `storedResult`.
   */
  open(answers: readonly Answer[], place: string): Promise<Opened>
}

export const toolName = 'write'
export const toolDescription = 'Writes a text'
export const textDelta = 'knot'
const argumentDeltaCharacters = 12
/** Call whose arguments and result have 300 bytes in total: 144 in twelve deltas, and the rest in the result. */
export const storedCall: Answer = { arguments: 12 }
export const storedResult = 'r'.repeat(156)

/** Returns the complete arguments of a call, `{"text":"…"}`, with twelve characters per delta. */
export function argumentsText(deltas: number): string {
  return `{"text":"${'x'.repeat(deltas * argumentDeltaCharacters - 11)}"}`
}

export function argumentDelta(text: string, position: number): string {
  return text.slice(position * argumentDeltaCharacters, (position + 1) * argumentDeltaCharacters)
}

export function nothingSeen(): Seen {
  return { textDeltas: 0, argumentDeltas: 0, toolResults: 0 }
}

/** Returns the events that a reader must have got of a complete turn. */
export function allOf(answers: readonly Answer[]): Seen {
  const seen = nothingSeen()
  for (const answer of answers) {
    seen.textDeltas += answer.text ?? 0
    seen.argumentDeltas += answer.arguments ?? 0
    if (answer.arguments !== undefined) seen.toolResults += 1
  }
  return seen
}

/** Returns the answer to a request whose prompt has this number of tool results. */
export function answerAfter(answers: readonly Answer[], toolResults: number): Answer {
  const answer = answers[toolResults]
  if (answer === undefined) throw new Error(`The script has no answer after ${toolResults} tool results`)
  return answer
}

/** Counts the messages of one role. A stateless model uses it to find its position in the script. */
export function countRole(messages: readonly { readonly role?: unknown }[], role: string): number {
  let count = 0
  for (const message of messages) if (message.role === role) count += 1
  return count
}

/** Returns one value per read without any buffer: the cheapest possible source of a reader. */
export function valuesOf<Value>(length: number, valueAt: (position: number) => Value): AsyncIterableIterator<Value, undefined> {
  let next = 0
  return {
    next: () => Promise.resolve(next < length ? { value: valueAt(next++), done: false } : { value: undefined, done: true }),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Events of an answer by offset. Offset 0 of a block is its start, then its deltas follow, and its end is last. */
export interface AnswerEvents<Event> {
  first(): Event
  text(offset: number): Event
  call(offset: number): Event
  last(): Event
}

/** Yields the events of an answer in order, for interfaces that have a start and an end of each block. */
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
