import { needed } from '@bowline/llm/arguments'
import { AgentError } from '../base/agent-error.ts'
import { checkJournal, checkKeys, checkOneOf, checkRequired, checkWhole } from '../base/checks.ts'
import type { IdSource } from '../base/ids.ts'
import type { Journal, JournalRecord } from '../contract/journal.ts'
import type { AgentEvent, DurableEvent } from '../events/agent-event.ts'

/** A journal that keeps a copy of each commit and event. */
export interface RecordingJournal extends Journal {
  /** The records of each commit that was stored, in order. */
  readonly commits: readonly (readonly JournalRecord[])[]
  /** Everything that happened, deltas and numbered durable events, in order. */
  readonly log: readonly AgentEvent[]
  /** The durable part of the log. */
  readonly events: readonly DurableEvent[]
  /** The journals of child runs, by key: they are recorded too. */
  readonly childJournals: ReadonlyMap<string, RecordingJournal>
}

/** Wraps a journal and records each commit, event and delta. */
export function recordingJournal(journal: Journal): RecordingJournal {
  checkJournal('journal', journal)
  const commits: (readonly JournalRecord[])[] = []
  const log: AgentEvent[] = []
  const events: DurableEvent[] = []
  const childJournals = new Map<string, RecordingJournal>()
  const child = journal.child?.bind(journal)
  return {
    ...otherMembers(journal),
    ...{ commits, log, events, childJournals },
    load: () => journal.load(),
    async commit(records, expect) {
      const outcome = await journal.commit(records, expect)
      if (!outcome.ok) return outcome
      commits.push([...records])
      let seq = outcome.firstSeq
      for (const record of records) {
        if (record.type !== 'event') continue
        const event = { ...record.event, seq: seq++ }
        events.push(event)
        log.push(event)
      }
      return outcome
    },
    publish(deltas) {
      checkRequired('deltas', deltas, 'a list of deltas', Array.isArray)
      log.push(...deltas)
      journal.publish?.(deltas)
    },
    ...(child && {
      child(key, meta) {
        const known = childJournals.get(key)
        if (known) return known
        const recorded = recordingJournal(child(key, meta))
        childJournals.set(key, recorded)
        return recorded
      },
    }),
  }
}

/** The commit at which the process of a `crashingJournal` dies. */
export interface CrashPoint {
  /** Which commit, from 1. Those of child runs count. */
  readonly commit: number
  /** `before`: nothing of it is stored. `after`: it is stored, and its answer is lost. */
  readonly when: 'before' | 'after'
}

/** A journal that rejects each commit from its crash point on. `crashed` says whether that happened. */
export interface CrashingJournal extends Journal {
  readonly crashed: boolean
}

/** Wraps a journal so that its process seems to die at one commit: that commit and all later ones reject with `journal-failed`. */
export function crashingJournal(journal: Journal, point: CrashPoint): CrashingJournal {
  checkJournal('journal', journal)
  checkKeys('point', point, ['commit', 'when'])
  checkWhole('point.commit', needed(point.commit), 1)
  checkOneOf('point.when', needed(point.when), ['before', 'after'])
  return wrap(journal, new Fate(point))
}

/** Of one process: all its journals share it. */
class Fate {
  crashed = false
  readonly #point: CrashPoint
  #commits = 0

  constructor(point: CrashPoint) {
    this.#point = point
  }

  async commit<Outcome>(store: () => Promise<Outcome>): Promise<Outcome> {
    const { commit, when } = this.#point
    const dies = ++this.#commits === commit
    if (this.crashed || (dies && when === 'before')) return this.#die()
    const outcome = await store()
    return dies ? this.#die() : outcome
  }

  #die(): never {
    this.crashed = true
    throw new AgentError('journal-failed', `the process died ${this.#point.when} commit ${this.#point.commit}`)
  }
}

function wrap(journal: Journal, fate: Fate): CrashingJournal {
  const child = journal.child?.bind(journal)
  return {
    ...otherMembers(journal),
    get crashed() {
      return fate.crashed
    },
    load: () => journal.load(),
    commit: (records, expect) => fate.commit(() => journal.commit(records, expect)),
    publish: (deltas) => journal.publish?.(deltas),
    ...(child && { child: (key, meta) => wrap(child(key, meta), fate) }),
  }
}

type Other = Exclude<keyof Journal, 'load' | 'commit' | 'publish' | 'child'>

/** A member that is missing here does not compile. */
const others: Readonly<Record<Other, true>> = {
  takeInputs: true,
  findAnswered: true,
  enqueue: true,
  schedulesCompaction: true,
  conversation: true,
  children: true,
  abortSignal: true,
}

/** What a journal has besides what a wrapper changes; methods stay those of the journal. */
function otherMembers(journal: Journal): Pick<Journal, Other> {
  const entries = (Object.keys(others) as Other[]).flatMap((name) => {
    const member = (journal as Readonly<Record<Other, unknown>>)[name]
    if (member === undefined) return []
    return [[name, typeof member === 'function' ? (member.bind(journal) as unknown) : member]]
  })
  return Object.fromEntries(entries) as Pick<Journal, Other>
}

/** Creates ids `<kind>_1`, `<kind>_2` …, counted per kind. */
export function fakeIds(): IdSource {
  const counts = new Map<string, number>()
  return {
    next(kind) {
      const count = (counts.get(kind) ?? 0) + 1
      counts.set(kind, count)
      return `${kind}_${count}`
    },
  }
}
