import { needed } from '@bowline/llm/arguments'
import { AgentError } from '@bowline/agent-loop'
import { checkJournal } from '@bowline/agent-loop/internal'
import type { AgentEvent, DurableEvent, IdSource, Journal, JournalRecord } from '@bowline/agent-loop'
import { checkKeys, checkOneOf, checkRequired, checkWhole } from './checks.ts'

/** A journal that keeps a copy of each commit and event. */
export interface RecordingJournal extends Journal {
  /** The records of each commit that was stored, in order. */
  readonly commits: readonly (readonly JournalRecord[])[]
  /** Everything that happened, deltas and numbered durable events, in order. */
  readonly log: readonly AgentEvent[]
  /** The durable part of the log. */
  readonly events: readonly DurableEvent[]
  /** The journals of child runs, by key. They are recorded too. */
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
    commits,
    log,
    events,
    childJournals,
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
  /** Number of the commit, from 1. Commits of child runs count. */
  readonly commit: number
  /** `before`: nothing of the commit is stored. `after`: it is stored, but the process does not get the answer. */
  readonly when: 'before' | 'after'
}

/** A journal that rejects each commit from its crash point on. `crashed` tells whether that has happened. */
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

/** The fate of one process: all its journals share it. */
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

/** Does not compile if a member is missing here. */
const others: Readonly<Record<Other, true>> = {
  drainInputs: true,
  findAnswered: true,
  enqueue: true,
  schedulesCompaction: true,
  conversation: true,
  children: true,
  abortSignal: true,
}

/** Returns the members of a journal that a wrapper does not change. Methods stay bound to the journal. */
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
