import type { CommitExpectation, InputSource, Journal, QueuedInput } from '../../src/index.ts'

/**
 * A journal's own inbox: inputs stay in it until a commit confirms them. An end that expects no inputs is refused while some wait.
 */
export interface OuterInbox {
  /** For `conversation({ wrap })`. */
  readonly wrap: (journal: Journal) => Journal
  give(source: InputSource, ...texts: readonly string[]): void
  /** Ids of the inputs that wait. */
  readonly waiting: readonly string[]
  /** Expectations of all commits that were tried. */
  readonly expected: readonly (CommitExpectation | undefined)[]
  /** All calls that asked for inputs, with their maximum. */
  readonly asked: readonly { readonly window: string; readonly max: number }[]
  /** Called when the journal is asked for inputs. */
  onAsk: () => void
  /** Called when a commit is tried, before it is judged. */
  onCommit: (commit: number) => void | Promise<void>
}

export function outerInbox(): OuterInbox {
  let inputs: QueuedInput[] = []
  let given = 0
  const expected: (CommitExpectation | undefined)[] = []
  const asked: { window: string; max: number }[] = []
  const inbox: OuterInbox = {
    expected,
    asked,
    onAsk: () => undefined,
    onCommit: () => undefined,
    give: (source, ...texts) => void inputs.push(...texts.map((input): QueuedInput => ({ inputId: `outer_${++given}`, source, input }))),
    get waiting() {
      return inputs.map(({ inputId }) => inputId)
    },
    wrap: (journal) => ({
      ...journal,
      async drainInputs(window, max) {
        asked.push({ window, max })
        inbox.onAsk()
        return inputs.slice(0, max)
      },
      async commit(records, expect) {
        expected.push(expect)
        await inbox.onCommit(expected.length)
        const taken = new Set(records.flatMap((record) => (record.type === 'inputs-taken' ? record.inputIds : [])))
        const left = inputs.filter(({ inputId }) => !taken.has(inputId))
        if (expect?.noInputs && left.length > 0) return { ok: false, reason: 'inputs-waiting' }
        const outcome = await journal.commit(records, expect)
        if (outcome.ok) inputs = inputs.filter(({ inputId }) => !taken.has(inputId))
        return outcome
      },
    }),
  }
  return inbox
}
