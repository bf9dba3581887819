import { costOf, resolveSchema } from '@bowline/llm'
import type { UserMessage } from '@bowline/llm'
import { deepFreeze } from '../base/json.ts'
import { clientCalls } from '../base/messages.ts'
import type { MaybePromise } from '../base/promises.ts'
import type { AgentInput } from '../contract/input.ts'
import type { LoggedInput, OpenTurn, QueuedInput, StoredMessage } from '../contract/journal.ts'
import type { RuntimeInputEvent, Window } from '../events/turn-events.ts'
import { endAttempts, endStep, tellAttemptEnd } from './ask.ts'
import { callsOf, writeRows } from './call.ts'
import type { Call } from './call.ts'
import { aborted, modelWouldStop } from './ending.ts'
import type { TurnOutcome } from './ending.ts'
import { cancelOpenCalls } from './finish.ts'
import { consult } from './plugin.ts'
import { isOpen } from './question.ts'
import type { Declarations } from './run-context.ts'
import { appendResults, tellStepEnd } from './settle.ts'
import { chargeAll } from './spending.ts'
import type { InputVerdict, Next, Segment } from './subjects.ts'
import type { Turn } from './turn.ts'

/** The reason for which a run has a turn: a new input, inputs that wait in the journal, or an open turn. */
export type TurnEntry = NewTurn | OpenedTurn

export interface NewTurn {
  readonly kind: 'new'
  /** Absent: inputs that wait in the journal begin the turn. */
  readonly message?: UserMessage
  readonly input: AgentInput | undefined
  readonly inputId?: string
  /** Set if the message is in the log already. */
  readonly logged?: LoggedInput | undefined
}

export interface OpenedTurn {
  /** `close`: the calls of the turn are cancelled, and it ends. */
  readonly kind: 'resume' | 'close'
  readonly open: OpenTurn
  /** Calls of the latest answer, while the step has not ended. */
  readonly calls: readonly Call[]
  /** Drafts the answers that were given to the turn. */
  readonly answer?: ((turn: Turn) => Promise<void>) | undefined
}

/**
 * Returns the calls of the latest answer, while its step has not ended. Before there is an answer, it returns the open question of
 * the step instead.
 */
export function openCalls(turn: Turn, open: OpenTurn | undefined): readonly Call[] {
  if (turn.stepState === 'begun') return isOpen(turn.question) ? [turn.question] : []
  const answer = open && turn.stepState === 'answered' ? turn.transcript.latestAnswer : undefined
  return answer ? callsOf(turn.agent.tools, turn, clientCalls(answer), open?.calls) : []
}

export function enter(turn: Turn, entry: TurnEntry): Promise<Next> {
  return entry.kind === 'new' ? beginTurn(turn, entry) : reopenTurn(turn, entry)
}

async function beginTurn(turn: Turn, entry: NewTurn): Promise<Next> {
  const known = consult(turn, 'fingerprint', undefined)
  const fingerprint = known instanceof Promise ? await known : known
  const accepted = acceptInput(turn, entry)
  const isHandled = accepted instanceof Promise ? await accepted : accepted
  turn.log.begin({ resumed: false, attempt: 1, ...(fingerprint !== undefined && { fingerprint }) })
  if (isHandled) return handled(turn)
  turn.log.writeRun('running')
  const opened = openSegment(turn, { input: entry.input, resumed: false })
  if (opened) await opened
  const drained = consult(turn, 'drain', 'turn-start')
  if (drained instanceof Promise) await drained
  return { phase: 'ask' }
}

async function handled(turn: Turn): Promise<Next> {
  const outcome: TurnOutcome = { status: 'completed', reason: 'handled' }
  // A process that resumes after a crash must not ask a model about nothing.
  turn.log.writeRun('running', { ending: outcome })
  if (turn.run.isDriven) await turn.boundary()
  await consult(turn, 'begin', { input: undefined, resumed: false })
  return { phase: 'end', outcome }
}

/** Begins a later segment of a turn that another process, or an earlier run, has left open. */
async function reopenTurn(turn: Turn, { kind, open, calls, answer }: OpenedTurn): Promise<Next> {
  const { cause = 'recovery', attempt = 2, definitionDiff } = open.resume ?? {}
  const fingerprint = await consult(turn, 'fingerprint', undefined)
  turn.log.begin({
    resumed: true,
    attempt,
    cause: answer ? 'answers' : cause,
    ...(fingerprint !== undefined && { fingerprint }),
    ...(definitionDiff !== undefined && { definitionDiff }),
  })
  if (kind === 'close' || turn.stop.stopped) {
    const outcome = await closeTurn(turn, { open, calls, answer })
    return { phase: 'end', outcome: kind === 'close' ? { ...outcome, isReplaced: true } : outcome }
  }
  await openSegment(turn, { input: undefined, resumed: true })
  const hasInputs = mayDrain(turn, open.ending) && (await consult(turn, 'drain', 'turn-start')) === true
  if (open.ending && !hasInputs) return { phase: 'end', outcome: open.ending, slot: 'turn-start' }
  if (open.ending) turn.log.writeRun('running')
  if (open.openMessageId !== undefined) discardCrashed(turn, open.openMessageId)
  await answer?.(turn)
  return turn.stepState === 'answered' ? resumeAnswer(turn, calls) : { phase: 'ask' }
}

/**
 * Returns whether inputs may enter now. Nothing may come between an answer and the results of its calls, or after an answer whose
 * step is not judged.
 */
function mayDrain(turn: Turn, ending: OpenTurn['ending']): boolean {
  if (turn.stepState === 'answered') return false
  return !ending || (modelWouldStop(ending) && turn.step < turn.run.limits.maxSteps)
}

function resumeAnswer(turn: Turn, calls: readonly Call[]): Next {
  const message = turn.transcript.latestAnswer
  if (!message) throw new TypeError('the journal marks the step as answered, but has no answer')
  return { phase: 'settle', answer: { message, results: new Map() }, calls }
}

/** Ends a turn that is stopped before it continues: takes the answers, but runs nothing any more. */
async function closeTurn(turn: Turn, { open, calls, answer }: Omit<OpenedTurn, 'kind'>): Promise<TurnOutcome> {
  const segment: Segment = { input: undefined, resumed: true }
  if (turn.run.isDriven) await turn.boundary()
  await consult(turn, 'begin', segment)
  await consult(turn, 'onTurnStart', segment)
  if (open.openMessageId !== undefined) discardCrashed(turn, open.openMessageId)
  await answer?.(turn)
  await tellAttemptEnd(turn, endAttempts(turn, { success: false }))
  await cancelOpenCalls(turn, calls)
  writeRows(turn, calls)
  const asked = calls.filter((call) => call !== turn.question)
  appendResults(turn, asked)
  const outcome = aborted(turn.stop, asked)
  if (turn.stepState === 'ended') return outcome
  endStep(turn, asked, false)
  turn.log.writeRun('running', { ending: outcome })
  if (turn.run.isDriven) await turn.boundary()
  await tellStepEnd(turn, turn.transcript.latestAnswer, asked)
  return outcome
}

/** Does what follows a `turn-start`: the driver, the prompt, the plug-ins. Returns undefined if nothing had to be waited for. */
function openSegment(turn: Turn, segment: Segment): MaybePromise<void> {
  const { plugins, run } = turn
  const isQuiet = !run.isDriven && plugins.begin.asks.length + plugins.instruct.asks.length + plugins.onTurnStart.asks.length === 0
  if (!isQuiet) return openSlowly(turn, segment)
  const prompt = consult(turn, 'prompt', segment)
  if (prompt) return prompt.then(() => weighPrompt(turn))
  return weighKnownPrompt(turn) ? undefined : weighPrompt(turn)
}

async function openSlowly(turn: Turn, segment: Segment): Promise<void> {
  await turn.boundary()
  await consult(turn, 'prompt', segment)
  await consult(turn, 'begin', segment)
  await consult(turn, 'instruct', segment)
  await consult(turn, 'onTurnStart', segment)
  await weighPrompt(turn)
}

/** Withdraws the message that the model was writing when the process died: the same attempt is made again. Its cost is a guess. */
function discardCrashed(turn: Turn, messageId: string): void {
  turn.log.record({ type: 'message-discarded', step: turn.step, messageId, reason: 'crash' })
  const inputTokens = turn.contextTokens()
  const usage = { inputTokens, outputTokens: 0, totalTokens: inputTokens, estimated: true } as const
  const cost = costOf(usage, turn.model.info.price)
  turn.bookApart('discarded-attempt', usage, cost, { model: turn.model })
  chargeAll(turn, { usage, cost })
}

/** Drafts the input of a new turn as plug-ins leave it. Returns true if a plug-in has handled it: then nothing of it is kept. */
function acceptInput(turn: Turn, entry: NewTurn): MaybePromise<boolean> {
  const { message, input, logged } = entry
  if (!message || input === undefined) return false
  const source = logged?.source ?? turn.run.source
  const asked = consult(turn, 'input', { input, source })
  return asked instanceof Promise
    ? asked.then((verdict) => takeInput(turn, entry, message, verdict))
    : takeInput(turn, entry, message, asked)
}

function takeInput(turn: Turn, { inputId, logged }: NewTurn, message: UserMessage, verdict: InputVerdict | undefined): boolean {
  if (!verdict && logged) {
    // The message is in log and transcript already: only the fields of the turn are missing.
    turn.inputId = logged.messageId
    if (!turn.transcript.hasMessage(logged.messageId)) turn.append({ ...message, id: logged.messageId })
    return false
  }
  if (logged) withdrawInput(turn, logged.messageId)
  if (verdict?.action === 'handled') {
    turn.reply = verdict.reply ?? ''
    if (inputId !== undefined) turn.run.inbox.confirm(inputId)
    return true
  }
  appendInput(turn, verdict?.input ?? message, { inputId, logged })
  return false
}

function appendInput(
  turn: Turn,
  message: UserMessage,
  { inputId, logged }: Pick<NewTurn, 'logged'> & { readonly inputId: string | undefined },
): void {
  const source = logged?.source ?? turn.run.source
  const id = freeIdOf(turn, message, logged) ?? turn.ids.next('msg')
  const stored: StoredMessage & { role: 'user' } = deepFreeze({ ...message, id, at: message.at ?? turn.clock.now() })
  turn.inputId = id
  turn.log.record({ type: 'user-message', messageId: id, message: stored, source, ...(inputId !== undefined && { inputId }) })
  turn.append(stored)
}

/** Returns the input's own id, or undefined if the log has a message of this id: the input that it replaces, or an earlier one. */
function freeIdOf({ transcript }: Turn, { id }: UserMessage, logged: NewTurn['logged']): string | undefined {
  return id === undefined || id === logged?.messageId || transcript.hasMessage(id) ? undefined : id
}

function withdrawInput(turn: Turn, messageId: string): void {
  turn.log.record({ type: 'message-discarded', messageId, reason: 'replaced' })
  if (turn.transcript.hasMessage(messageId)) turn.discard([messageId])
}

export interface PlacedInput extends Pick<QueuedInput, 'inputId'>, Pick<RuntimeInputEvent, 'source'> {
  readonly input: UserMessage
}

/** Drafts an input in its stored form at a window of the turn. */
export function placeInput(turn: Turn, slot: Window, { inputId, source, input }: PlacedInput): void {
  const message: StoredMessage & { role: 'user' } = { ...input, id: turn.ids.next('msg'), at: turn.clock.now() }
  turn.log.record({ type: 'runtime-input', inputId, source, placement: slot, message, characters: charactersOf(input.content) })
  turn.append(message)
  // Without another input, the turn begins with this one.
  turn.inputId ??= message.id
}

export function charactersOf(content: UserMessage['content']): number {
  if (typeof content === 'string') return content.length
  return content.reduce((length, part) => length + (part.type === 'text' ? part.text.length : 0), 0)
}

const sizes = new WeakMap<Declarations, number>()

/** Adds the size of instructions and tools to the estimate of each request. */
async function weighPrompt(turn: Turn): Promise<void> {
  if (weighKnownPrompt(turn)) return
  const { declarations } = turn.agent
  // A schema may be slow to read: a run that is stopped must not wait for it.
  const size = await turn.stop.until(sizeOf(declarations)).catch(() => undefined)
  if (size === undefined) return
  sizes.set(declarations, size)
  weighKnownPrompt(turn)
}

/** As `weighPrompt`, if the list of tools was read before. Returns false if it was not. */
function weighKnownPrompt({ agent, instructions, transcript }: Turn): boolean {
  const size = sizes.get(agent.declarations)
  if (size !== undefined) transcript.estimate.usePrompt(instructions.length + size)
  return size !== undefined
}

/** Returns the size of the declarations in characters. A schema that cannot be read counts as empty: the call itself reports it. */
async function sizeOf(declarations: Declarations): Promise<number> {
  const all = await Promise.all(declarations.map(lengthOf))
  return all.reduce((sum, characters) => sum + characters, 0)
}

async function lengthOf(tool: Declarations[number]): Promise<number> {
  if (!('inputSchema' in tool)) return JSON.stringify(tool).length
  const { name, description = '', inputSchema } = tool
  const schema = await resolveSchema(inputSchema).catch(() => undefined)
  return name.length + description.length + JSON.stringify(schema?.jsonSchema ?? {}).length
}
