import type { BridgeAgent, BridgeEvent, PendingInput, PromptContext, SessionContext } from '../../src/index.ts'
import { BridgeError } from '../../src/index.ts'
import { testAgent } from '../support.ts'

/** Commands that a turn accepts. */
export const commands = ['say', 'hold', 'ask', 'finish', 'fail', 'break'] as const
export type Command = (typeof commands)[number]

/** An agent that a test controls turn by turn. It counts its sessions. */
export interface Puppet {
  readonly agent: BridgeAgent
  /** Created sessions, with the reasons of their ends so far. */
  readonly sessions: ReadonlyMap<string, readonly string[]>
  /** Sends a command. Ignored if no turn of this session waits for one. */
  tell(sessionId: string, command: Command): void
  /** Id of the latest question, over all sessions. */
  readonly lastQuestion: string
  /** Lets waiting create hooks finish. */
  letIn(): void
}

/**
 * Creates a puppet. A session with `create: 'refuse'` is refused; with `create: 'wait'` it waits for `letIn`. A prompt `stubborn`
 * ignores cancels.
 */
export function puppet(id = 'puppet'): Puppet {
  const sessions = new Map<string, string[]>()
  const turns = new Map<string, Turn>()
  const entering = new Set<() => void>()
  let questions = 0

  function ask(): readonly PendingInput[] {
    questions += 1
    return [{ id: `question-${questions}`, kind: 'approval', toolName: 'pay', input: {} }]
  }

  async function* onPrompt(request: PromptContext): AsyncGenerator<BridgeEvent> {
    const { session, abortSignal, prompt, answers } = request
    // Answers continue the same prompt with another call of `onPrompt`.
    const turn = new Turn(abortSignal, answers ? turns.get(session.sessionId)?.stubborn === true : prompt === 'stubborn')
    turns.set(session.sessionId, turn)
    for (let command = await turn.next(); command; command = await turn.next()) {
      yield done(command, ask)
      if (command !== 'say' && command !== 'hold') return
    }
  }

  return {
    sessions,
    agent: testAgent(id, {
      onSessionCreate: (session) => enter(session, entering, () => sessions.set(session.sessionId, [])),
      onPrompt,
      onAnswers: () => {},
      onSessionClose: ({ sessionId }, reason) => void sessions.get(sessionId)?.push(reason),
    }),
    tell: (sessionId, command) => turns.get(sessionId)?.tell(command),
    get lastQuestion() {
      return `question-${questions}`
    },
    letIn() {
      for (const open of entering) open()
      entering.clear()
    },
  }
}

async function enter({ metadata }: SessionContext, entering: Set<() => void>, add: () => void): Promise<void> {
  if (metadata['create'] === 'refuse') throw new BridgeError('CAPACITY', 'No room')
  if (metadata['create'] === 'wait') await new Promise<void>((resolve) => entering.add(resolve))
  add()
}

function done(command: Command, ask: () => readonly PendingInput[]): BridgeEvent {
  switch (command) {
    case 'say':
      return { type: 'text-delta', delta: '.' }
    case 'hold':
      return { type: 'needs-input', pending: ask() }
    case 'ask':
      return { type: 'result', result: { text: '', stopReason: 'needs_input', pending: ask() } }
    case 'finish':
      return { type: 'result', result: { text: 'done', stopReason: 'end_turn' } }
    case 'fail':
      throw new BridgeError('UPSTREAM', 'Not now', { retryable: true })
    case 'break':
      throw new BridgeError('UPSTREAM', 'Never again')
  }
}

/** Commands for one turn, until it is stopped. */
class Turn {
  readonly stubborn: boolean
  readonly #commands: Command[] = []
  readonly #signal: AbortSignal
  #wake = (): void => {}

  constructor(signal: AbortSignal, stubborn: boolean) {
    this.stubborn = stubborn
    this.#signal = signal
    signal.addEventListener('abort', () => this.#wake(), { once: true })
  }

  tell(command: Command): void {
    this.#commands.push(command)
    this.#wake()
  }

  /** Returns undefined once it was told to stop, unless it is stubborn. */
  async next(): Promise<Command | undefined> {
    for (;;) {
      if (this.#signal.aborted && !this.stubborn) return undefined
      const command = this.#commands.shift()
      if (command) return command
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
