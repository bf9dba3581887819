import type { ApprovalRequest, PendingToolCall } from '@bowline/agent-loop'
import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import type { RunHandle, Session } from '../../../src/commands/types.ts'
import { readAll } from '../../../src/contract/paging.ts'
import { SessionError } from '../../../src/errors.ts'
import type { Runtime } from '../../../src/runtime/types.ts'
import { nameOfError } from '../../../../testing/src/crash-kit/start-runtime.ts'
import { textOfInput, tokenOf } from './plan-text.ts'
import type { AcceptedInput, AmidTurn, Copy, List } from './program-end.ts'
import type { AnswerKind, PlannedInput, ProgramSession, ProgramStep } from './program.ts'
import { ProgramReader } from './reader.ts'
import type { Living, Stage } from './stage.ts'

type InputStep = Exclude<Extract<ProgramStep, PlannedInput>, { do: 'schedule' }>

const maxTries = 3

/** The clients of a program. They outlive its processes and reconnect to the next one. */
export class Clients {
  readonly accepted: AcceptedInput[] = []
  /** Answers that were accepted as new, by call or approval id, with the decision. */
  readonly answers = new Map<string, { readonly times: number; readonly decision?: 'approve' | 'deny' }>()
  /** Number of times that a client has asked for a call to run again. */
  readonly runAgain = new Map<string, number>()
  /** Sessions whose inputs may be gone, because a client has withdrawn them or the session has expired. */
  readonly cleared = new Set<ProgramSession>()
  readonly readers: ProgramReader[] = []
  readonly copies: Copy[] = []
  readonly lists: List[] = []
  readonly amidTurn: AmidTurn[] = []
  readonly surprises: string[] = []
  readonly #stage: Stage
  /** Inputs without an answer. Their client sends them again to the next process. */
  readonly #unanswered = new Set<InputStep>()
  /** Requests that a process has not answered yet. */
  readonly #asked = new Set<{ readonly of: Living }>()

  constructor(stage: Stage) {
    this.#stage = stage
    stage.onReplaced = () => {
      for (const step of [...this.#unanswered]) void this.#send(step)
      for (const reader of this.readers) reader.comeBack(stage.current)
    }
  }

  /** True while a live process owes an answer to a client. */
  get isWaiting(): boolean {
    return [...this.#asked].some(({ of }) => of.process.state !== 'dead')
  }

  async perform(step: ProgramStep): Promise<void> {
    const { turns, ...what } = step
    this.#stage.log('client', JSON.stringify(what))
    await this.#begin(step)
    await this.#stage.settle(turns)
  }

  async #begin(step: ProgramStep): Promise<void> {
    switch (step.do) {
      case 'send':
      case 'steer':
      case 'follow-up':
      case 'overlay':
        return void this.#send(step)
      case 'schedule':
        return void this.#ask(({ runtime }) => this.#schedule(runtime.session(step.to), step))
      case 'pass':
        return this.#stage.pass(step.ms)
      case 'set-clock':
        return this.#stage.time.setBy(step.byMs)
      case 'restart':
        return this.#stage.restart(step.definition ?? this.#stage.current.definition, step.graceMs ?? 0)
      case 'read': {
        const reader = new ProgramReader(this.#stage, step)
        this.readers.push(reader)
        return reader.comeBack(this.#stage.current)
      }
      case 'sweep':
        return void this.#ask(({ runtime }) => runtime.sweep())
      case 'drain':
        return void this.#ask(({ runtime }) => runtime.drain({ untilMs: this.#stage.time.now + step.ms }))
      case 'copy':
        return void this.#ask(({ runtime }) => this.#copy(runtime, step))
      case 'fork':
        return void this.#ask(({ runtime }) => (step.amidList ? this.#forkAmidList(runtime, step.to) : runtime.session(step.to).fork()))
      case 'resume':
        return void this.#ask(({ runtime }) => resumeNewest(runtime, step.to))
      case 'answer':
        return void this.#ask(({ runtime }) => this.answer(runtime.session(step.to), step.how))
      default:
        return void this.#ask(({ runtime }) => this.#onSession(runtime.session(step.to), step))
    }
  }

  async #onSession(
    session: Session,
    step: Extract<ProgramStep, { do: 'stop' | 'kill' | 'delete' | 'compact' | 'label' | 'switch' }>,
  ): Promise<unknown> {
    switch (step.do) {
      case 'stop':
        if (step.scope === 'all') this.cleared.add(step.to)
        return session.stop({ ...(step.scope && { scope: step.scope }), ...(step.waitMs !== undefined && { waitMs: step.waitMs }) })
      case 'kill':
        this.cleared.add(step.to)
        return session.kill()
      case 'delete':
        this.cleared.add(step.to)
        return session.delete()
      case 'compact':
        return session.compact()
      case 'label': {
        const leaf = (await session.info())?.leaf
        return leaf == null ? undefined : session.label(leaf, 'here')
      }
      case 'switch': {
        const { items } = await session.messages({ limit: 10 })
        const target = items.at(-1 - step.back)?.id ?? null
        return session.switchTo(target, step.summarize ? { summarize: true } : {})
      }
    }
  }

  /** Sends an input. Retries without an answer, under the id of the input. */
  async #send(step: InputStep): Promise<void> {
    const { process } = this.#stage.current
    this.#unanswered.add(step)
    for (let tries = 1; process.state !== 'dead'; tries++) {
      const isAnswered = await this.#ask(({ runtime }) => this.#give(runtime.session(step.to), step), tries < maxTries)
      if (isAnswered === 'again') continue
      this.#unanswered.delete(step)
      return
    }
  }

  async #give(session: Session, step: InputStep): Promise<void> {
    const { to, name } = step
    const token = tokenOf(to, name)
    const text = textOfInput(token, step.plan)
    const input = { session: to, inputId: name, content: text, isNew: true, token }
    if (step.do === 'overlay') {
      await session.overlay(text, { id: name, ...(step.turns !== undefined && { turns: step.turns }) })
      this.accepted.push({ ...input, method: 'overlay', turns: step.turns ?? 1 })
      return
    }
    const handle = await this.#handle(session, step, text)
    const { accepted, runId } = handle
    this.#stage.log('client', `${name} is ${accepted} as ${runId}`)
    const method = accepted === 'steered' ? 'steer' : step.do === 'follow-up' ? 'followUp' : 'send'
    if (accepted !== 'duplicate') this.accepted.push({ ...input, method, runId })
    if (step.do === 'send' && step.mode) void this.#drive(handle, step)
  }

  async #schedule(session: Session, { to, name, inMs, plan }: Extract<ProgramStep, { do: 'schedule' }>): Promise<void> {
    const token = tokenOf(to, name)
    const content = textOfInput(token, plan)
    const at = this.#stage.time.now + inMs
    await session.schedule({ id: name, at, input: content })
    const inputId = `schedule:${name}:${new Date(at).toISOString()}`
    this.accepted.push({ session: to, inputId, content, isNew: true, token, method: 'send' })
  }

  #handle(session: Session, step: Exclude<InputStep, { do: 'overlay' }>, text: string): Promise<RunHandle> {
    const { name: id } = step
    if (step.do !== 'send') return step.do === 'steer' ? session.steer(text, { id }) : session.followUp(text, { id })
    const { onBusy, notBeforeMs, mode } = step
    const notBefore = notBeforeMs === undefined ? {} : { notBefore: this.#stage.time.now + notBeforeMs }
    return session.send(text, { id, ...(onBusy && { onBusy }), ...notBefore, ...(mode && { mode }) })
  }

  /** Reads a synchronized run, which waits for this reader. */
  async #drive(handle: RunHandle, { to, name, overlay }: InputStep & { readonly overlay?: true }): Promise<void> {
    const { runId } = handle
    const token = tokenOf(to, `${name}-more`)
    let isGiven = false
    try {
      for await (const event of handle) {
        if (event.type === 'step-end' && overlay && !isGiven) {
          const inputId = `${name}-more`
          await handle.overlay(token, { id: inputId })
          this.accepted.push({ session: to, inputId, content: token, isNew: true, token, method: 'overlay', turns: 1 })
          isGiven = true
          this.#stage.log('client', `${name}-more is given to ${runId}`)
        }
        if (event.type !== 'turn-end') continue
        if (isGiven) this.amidTurn.push({ token, runId, isShown: this.#stage.models.prompts.some((prompt) => prompt.includes(token)) })
        return
      }
    } catch (error) {
      this.#hear(error)
    }
  }

  /** Answers all questions of a session, including those of its subagents. */
  async answer(session: Session, how: AnswerKind): Promise<void> {
    const run = (await session.info())?.openRun
    const { approvals, calls, held } = await questionsOf(session, run?.status === 'needs-recovery' ? run.pendingToolCalls : [])
    if (how === 'one') {
      const [approval] = approvals
      const [call] = calls
      if (approval) return this.#once(() => this.#decide(session, approval, how))
      return call && this.#once(() => this.#answerCall(session, call, how))
    }
    for (const approval of approvals) await this.#once(() => this.#decide(session, approval, how))
    for (const call of calls) await this.#once(() => this.#answerCall(session, call, how))
    if (run?.status === 'needs-recovery' && run.reason === 'definition-changed') held.add(run.runId)
    for (const { runId } of run?.heldRuns ?? []) held.add(runId)
    for (const runId of held) await this.#once(() => session.recover(runId, how === 'no' ? 'stop' : 'continue'))
  }

  async #copy(runtime: Runtime, { to, as, allBranches }: Extract<ProgramStep, { do: 'copy' }>): Promise<void> {
    const lines: string[] = []
    for await (const line of runtime.session(to).export({ events: true, ...(allBranches && { allBranches }) })) lines.push(line)
    const copy = { key: as, lines, isMade: false }
    this.copies.push(copy)
    await runtime.importSession(eachOf(lines), { key: as, repair: true })
    copy.isMade = true
  }

  /** Lists all sessions, one on each page, and forks the session after the first page. */
  async #forkAmidList(runtime: Runtime, to: ProgramSession): Promise<void> {
    const before = await readAll((page) => runtime.sessions(page))
    const first = await runtime.sessions({ limit: 1 })
    await runtime.session(to).fork()
    const listed = [...first.items]
    for (let { next } = first; next !== undefined;) {
      const page = await runtime.sessions({ limit: 1, page: next })
      listed.push(...page.items)
      next = page.next
    }
    this.lists.push({ before, listed, after: await readAll((page) => runtime.sessions(page)) })
  }

  async #decide(session: Session, { approvalId, about }: AskedApproval, how: AnswerKind): Promise<void> {
    const decision = how === 'no' ? 'deny' : 'approve'
    const edited = about === 'budget' ? { tokens: 3_000, cost: '0.5' } : { ms: 50 }
    for (let times = how === 'again' ? 2 : 1; times > 0; times--) {
      const { repeated } = await (decision === 'deny'
        ? session.deny(approvalId)
        : session.approve(approvalId, how === 'edited' ? { input: edited } : {}))
      if (!repeated) this.#noteAnswer(approvalId, decision)
    }
  }

  async #answerCall(session: Session, { toolCallId, path, unknown }: PendingToolCall, how: AnswerKind): Promise<void> {
    const place = path.length > 0 ? { path } : {}
    if (unknown) {
      if (how === 'run-again') this.runAgain.set(toolCallId, (this.runAgain.get(toolCallId) ?? 0) + 1)
      const resolution =
        how === 'run-again' ? { runAgain: true as const } : how === 'no' ? { unknown: true as const } : { result: 'is done' }
      await session.resolveTool(toolCallId, resolution, place)
      return
    }
    for (let times = how === 'again' ? 2 : 1; times > 0; times--) {
      const { accepted } = await session.submitToolResults([{ toolCallId, ...place, output: how === 'no' ? 'nowhere' : 'Oslo' }])
      for (const id of accepted) this.#noteAnswer(id)
    }
  }

  #noteAnswer(id: string, decision?: 'approve' | 'deny'): void {
    this.answers.set(id, { times: (this.answers.get(id)?.times ?? 0) + 1, ...(decision && { decision }) })
  }

  async #once(what: () => Promise<unknown>): Promise<void> {
    try {
      await what()
    } catch (error) {
      this.#hear(error)
    }
  }

  /** Calls the current process. Returns `again` if the store could not say whether the call was done. */
  async #ask(what: (living: Living) => Promise<unknown>, mayRepeat = false): Promise<'again' | 'done'> {
    const asked = { of: this.#stage.current }
    this.#asked.add(asked)
    try {
      await what(asked.of)
      return 'done'
    } catch (error) {
      if (mayRepeat && SessionError.isInstance(error) && error.retryable) return 'again'
      this.#hear(error)
      return 'done'
    } finally {
      this.#asked.delete(asked)
    }
  }

  /** Records an error. Refusals are expected answers; other errors are surprises. */
  #hear(error: unknown): void {
    this.#stage.log('client', `is refused: ${nameOfError(error)}`)
    if (!SessionError.isInstance(error) || error.code === 'store-corrupt') this.surprises.push(nameOfError(error))
  }
}

async function resumeNewest(runtime: Runtime, key: ProgramSession): Promise<unknown> {
  const { items } = await runtime.session(key).runs()
  const open = items.findLast(({ endedAt }) => endedAt === undefined)
  return open && runtime.resume(open.runId)
}

async function* eachOf(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

type AskedApproval = Pick<ApprovalRequest, 'approvalId' | 'about'>

interface Questions {
  readonly approvals: readonly AskedApproval[]
  readonly calls: readonly PendingToolCall[]
  /** Ids of subagent runs that are or were held because of their definition. */
  readonly held: Set<string>
}

/** Returns the open questions in the log, and the calls whose outcome is unknown. */
async function questionsOf(session: Session, doubts: readonly PendingToolCall[]): Promise<Questions> {
  let view = emptyView
  const held = new Set<string>()
  try {
    for await (const event of session.events({ live: false })) {
      view = reduceEvents(view, event)
      if (event.type === 'error' && event.source === 'definition') held.add(event.runId)
    }
  } catch (error) {
    if (!SessionError.isInstance(error)) throw error
    return { approvals: [], calls: [], held }
  }
  const known = new Set(doubts.map(({ toolCallId }) => toolCallId))
  return {
    approvals: view.pendingApprovals,
    calls: [...doubts, ...view.pendingToolCalls.filter(({ toolCallId }) => !known.has(toolCallId))],
    held,
  }
}
