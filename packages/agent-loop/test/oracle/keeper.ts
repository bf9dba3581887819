import type { AgentInput, ChildHost, CommitExpectation, CommitOutcome, Journal, JournalRecord, MemoryJournal, QueuedInput } from '../../src/index.ts'
import { plannedHost } from '../fuzz/child-host.ts'
import type { JournalPlan } from '../fuzz/scenarios.ts'
import { notedJournal } from './traced-journal.ts'
import type { OracleWorld } from './oracle-world.ts'
import { show } from './trace.ts'

/** The end of a process at one of its commits, counted over the whole conversation. */
export interface Death {
  readonly commit: number
  readonly when: 'before' | 'after'
  /** The commit is rejected, as are all later ones; or none is ever answered. */
  readonly how: 'rejects' | 'is-silent'
}

/** What outlives the processes of a conversation. */
export class Keeper {
  readonly queue: AgentInput[] = []
  readonly host: ChildHost | undefined
  waiting: QueuedInput[] = []
  answered: AgentInput | undefined
  journal: MemoryJournal
  commits = 0
  readonly #world: OracleWorld
  readonly #plan: JournalPlan
  #isLateDue: boolean

  constructor(world: OracleWorld, plan: JournalPlan) {
    this.#world = world
    this.#plan = plan
    this.#isLateDue = world.extras.lateInput
    this.journal = world.copy.createMemoryJournal()
    const host = plan.host && plannedHost(world, plan.host)
    this.host = host && {
      ...host,
      async start(request) {
        world.noteCall('host.start', [{ ...request }])
        await world.sleep(world.delayOf(request.key))
        return host.start(request)
      },
    }
  }

  /** Goes on from what is stored, as another process does. */
  restart(): void {
    const text = show(this.journal.snapshot())
    this.#world.trace.add('snapshots', text)
    this.journal = this.#world.copy.createMemoryJournal({ snapshot: JSON.parse(text) as never })
  }

  /** Returns the journal of a process that dies as told. */
  open(death: Death | undefined, abortSignal: AbortSignal): Process {
    const process: Process = { journal: undefined as never, dead: undefined }
    const onCommit = (records: readonly JournalRecord[], expect: CommitExpectation | undefined, store: () => Promise<CommitOutcome>, isRoot: boolean) =>
      this.#commit(process, death, { records, expect, store, isRoot })
    const base = notedJournal(this.#world, this.journal, '', (records, expect, store) => onCommit(records, expect, store, true))
    const child: Journal['child'] = (key, meta) =>
      this.#apart(key, notedJournal(this.#world, this.journal.child?.(key, meta) as Journal, `/${key}`, (records, expect, store) => onCommit(records, expect, store, false)))
    process.journal = { ...base, child, ...this.#others(), abortSignal }
    return process
  }

  /** A subagent goes on at times of its own: where it stands when another run does something is not left to chance. */
  #apart(key: string, journal: Journal): Journal {
    const world = this.#world
    return {
      ...journal,
      load: () => world.sleep(world.delayOf(key)).then(() => journal.load()),
      commit: (records, expect) => world.sleep(world.briefDelay()).then(() => journal.commit(records, expect)),
      child: (below, meta) => this.#apart(below, journal.child?.(below, meta) as Journal),
    }
  }

  #others(): Partial<Journal> {
    const { enqueues, schedulesCompaction } = this.#plan
    return {
      takeInputs: (_window, max) => Promise.resolve(this.waiting.slice(0, max)),
      ...(this.host && { children: this.host }),
      ...(schedulesCompaction && { schedulesCompaction: true }),
      ...(enqueues && {
        enqueue: (input: AgentInput) => {
          this.#world.trace.reached('enqueue')
          return Promise.resolve({ ok: true as const, inputId: `queued-${this.queue.push(input)}` })
        },
      }),
    }
  }

  async #commit(process: Process, death: Death | undefined, { records, expect, store, isRoot }: Commit): Promise<CommitOutcome> {
    const number = ++this.commits
    const world = this.#world
    world.moment()
    if (this.#plan.latencyMs > 0) await world.sleep(this.#plan.latencyMs)
    const isLast = number === death?.commit
    if (process.dead) return die(process, process.dead)
    if (isLast && death?.when === 'before') return die(process, death)
    const refusal = isRoot ? this.#refusal(expect) : undefined
    if (refusal) return refusal
    const outcome = await store()
    if (isRoot) this.#confirm(records)
    return isLast && death ? die(process, death) : outcome
  }

  #refusal(expect: CommitExpectation | undefined): CommitOutcome | undefined {
    if (expect?.noInputs && this.#isLateDue) {
      this.#isLateDue = false
      this.waiting.push({ inputId: 'late', source: 'steer', input: 'it is late' })
    }
    if (expect?.noInputs && this.waiting.length > 0) return { ok: false, reason: 'inputs-waiting' }
    if (expect?.nothingQueued === true && this.queue.length > 0) return { ok: false, reason: 'runs-queued' }
    if (expect?.nothingQueued === false && this.queue.length === 0) return { ok: false, reason: 'nothing-queued' }
    return undefined
  }

  #confirm(records: readonly JournalRecord[]): void {
    const taken = new Set(records.flatMap((record) => (record.type === 'inputs-taken' ? record.inputIds : [])))
    if (taken.size > 0) this.waiting = this.waiting.filter(({ inputId }) => !taken.has(inputId))
  }
}

export interface Process {
  journal: Journal
  dead: Death | undefined
}

interface Commit {
  readonly records: readonly JournalRecord[]
  readonly expect: CommitExpectation | undefined
  readonly store: () => Promise<CommitOutcome>
  readonly isRoot: boolean
}

function die(process: Process, death: Death): Promise<never> {
  process.dead = death
  if (death.how === 'is-silent') return new Promise(() => {})
  return Promise.reject(new Error('the process died'))
}
