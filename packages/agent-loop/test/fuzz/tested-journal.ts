import type { Message } from '@bowline/llm'
import { clientCalls } from '../../src/base/messages.ts'
import { createMemoryJournal, emptyView, reduceEvents } from '../../src/index.ts'
import type { AgentInput, ChildHost, Journal, JournalRecord, JournalState, QueuedInput, RunView } from '../../src/index.ts'
import { checkTranscript, recordingJournal } from '@bowline/testing'
import type { RecordingJournal } from '@bowline/testing'
import { plannedHost } from './child-host.ts'
import type { JournalPlan, RoundPlan } from './scenarios.ts'
import type { World } from './world.ts'

/** State that outlives the processes of a conversation, checked after each commit. */
export class Store {
  readonly world: World
  readonly plan: JournalPlan
  readonly root: RecordingJournal = recordingJournal(createMemoryJournal())
  readonly queue: AgentInput[] = []
  readonly host: ChildHost | undefined
  waiting: QueuedInput[] = []
  /** The latest answers to pending calls. */
  answered: AgentInput | undefined
  /** Called after each commit of the conversation itself. */
  onStored: () => void = () => undefined
  readonly #checked = new Map<RecordingJournal, { readonly messages: readonly Message[]; readonly isOpen: boolean }>()
  readonly #views = new Map<RecordingJournal, { view: RunView; folded: number }>()

  constructor(world: World, plan: JournalPlan) {
    this.world = world
    this.plan = plan
    this.host = plan.host && plannedHost(world, plan.host)
  }

  /** Creates a process, which may die at a commit. */
  open(death: RoundPlan['death'], abortSignal: AbortSignal): Writer {
    return new Writer(this, death, abortSignal)
  }

  /** Returns the fold of the stored events. */
  view(journal: RecordingJournal = this.root): RunView {
    const { view, folded } = this.#views.get(journal) ?? { view: emptyView, folded: 0 }
    const now = { view: journal.events.slice(folded).reduce<RunView>(reduceEvents, view), folded: journal.events.length }
    this.#views.set(journal, now)
    return now.view
  }

  async check(journal: RecordingJournal): Promise<void> {
    const state = await journal.load()
    const { messages, gap } = this.view(journal)
    const claim = (holds: boolean, fault: string): void => this.world.claim(holds, fault)
    for (const id of callsWithoutRow(state)) claim(false, `I4: the open call ${id} has no row`)
    claim(!gap, 'A45: the log has a gap')
    claim(areSame(messages, state.messages), 'A45: the fold is not the transcript')
    // What was correct before and has not changed is still correct.
    const known = this.#checked.get(journal)
    if (known?.isOpen === (state.open !== undefined) && areIdentical(known.messages, state.messages)) return
    this.#checked.set(journal, { messages: state.messages, isOpen: state.open !== undefined })
    for (const problem of checkTranscript(state.messages, { openCalls: state.open !== undefined })) claim(false, `A113: ${problem}`)
  }

  take(max: number): readonly QueuedInput[] {
    return this.waiting.slice(0, max)
  }

  confirm(records: readonly JournalRecord[]): void {
    const taken = new Set(records.flatMap((record) => (record.type === 'inputs-taken' ? record.inputIds : [])))
    this.waiting = this.waiting.filter(({ inputId }) => !taken.has(inputId))
  }
}

function areIdentical(a: readonly Message[], b: readonly Message[]): boolean {
  return a.length === b.length && a.every((message, place) => message === b[place])
}

function areSame(a: readonly Message[], b: readonly Message[]): boolean {
  return areIdentical(a, b) || JSON.stringify(a) === JSON.stringify(b)
}

function callsWithoutRow({ messages, open }: JournalState): readonly string[] {
  const last = messages.findLast(({ role }) => role !== 'tool-result')
  if (last?.role !== 'assistant' || messages.at(-1) !== last || open?.stepState === 'ended') return []
  const rows = new Set(open?.calls.map(({ toolCallId }) => toolCallId))
  return clientCalls(last).flatMap(({ toolCallId }) => (rows.has(toolCallId) ? [] : [toolCallId]))
}

/** One process that writes: all its journals die together. Using them after it is `over` is a fault. */
export class Writer {
  readonly store: Store
  readonly journal: Journal
  readonly #death: RoundPlan['death']
  commits = 0
  stored = 0
  died = false
  over = false

  constructor(store: Store, death: RoundPlan['death'], abortSignal: AbortSignal) {
    this.store = store
    this.#death = death
    this.journal = { ...this.#wrap(store.root), abortSignal }
  }

  #wrap(journal: RecordingJournal): Journal {
    const { store } = this
    const { plan, world } = store
    const isRoot = journal === store.root
    return {
      load: () => journal.load(),
      commit: (records, expect) => this.#commit(journal, records, expect, isRoot),
      publish: (deltas) => {
        world.claim(!this.over, 'A112: something is published behind the end')
        journal.publish?.(deltas)
        world.beat()
      },
      child: (key, meta) => this.#wrap(journal.child?.(key, meta) as RecordingJournal),
      ...(isRoot && {
        drainInputs: (_window: string, max: number) => Promise.resolve(store.take(max)),
        ...(store.host && { children: store.host }),
        ...(plan.schedulesCompaction && { schedulesCompaction: true }),
        ...(plan.enqueues && {
          enqueue: (input: AgentInput) => Promise.resolve({ ok: true as const, inputId: `queued-${store.queue.push(input)}` }),
        }),
      }),
    }
  }

  async #commit(
    journal: RecordingJournal,
    records: readonly JournalRecord[],
    expect: Parameters<Journal['commit']>[1],
    isRoot: boolean,
  ): ReturnType<Journal['commit']> {
    const { world, plan } = this.store
    world.claim(!this.over, 'A112: something is stored behind the end')
    const number = ++this.commits
    world.beat()
    if (plan.latencyMs > 0) await world.sleep(plan.latencyMs)
    if (this.died || (number === this.#death?.commit && this.#death.when === 'before')) return this.#die()
    if (isRoot && expect?.noInputs && this.store.waiting.length > 0) return { ok: false, reason: 'inputs-waiting' }
    if (isRoot && expect?.nothingQueued === true && this.store.queue.length > 0) return { ok: false, reason: 'runs-queued' }
    if (isRoot && expect?.nothingQueued === false && this.store.queue.length === 0) return { ok: false, reason: 'nothing-queued' }
    const outcome = await journal.commit(records, expect)
    this.stored++
    if (isRoot) this.store.confirm(records)
    await this.store.check(journal)
    if (isRoot) this.store.onStored()
    world.beat()
    return number === this.#death?.commit ? this.#die() : outcome
  }

  #die(): never {
    this.died = true
    throw new Error('the process died')
  }
}
