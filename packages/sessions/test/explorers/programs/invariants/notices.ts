import { isTerminal } from '../../../../src/contract/run-status.ts'
import type { NoticeRecord } from '../../../../src/contract/notices.ts'
import type { ProgramInvariant } from '../program-end.ts'

/** The receiver refuses each request, so every notice stays. While it is paused, most are not tried. */
export const noticesAreKept: ProgramInvariant = {
  name: 'a webhook is notified of each end once, and keeps trying',
  check({ notices, sessions, program }) {
    if (program.setup.webhook !== true) return []
    const problems = sessions.flatMap(({ record: { key, parent }, runs }) => {
      const own = notices.filter(({ session }) => session === key).toSorted((a, b) => a.n - b.n)
      const ends = runs.filter(({ kind, status }) => parent === undefined && kind !== 'compaction' && isTerminal(status))
      const wrong = ends.filter(({ id }) => own.filter(({ type, body }) => type === 'settled' && body['runId'] === id).length !== 1)
      return [...wrong.map(({ id }) => `the end of ${id} has another number of notices than one`), ...problemsOf(key, own)]
    })
    const isTried = notices.length === 0 || notices.some(({ attempts }) => attempts > 0)
    return isTried ? problems : [...problems, 'no notice was tried']
  },
}

function problemsOf(key: string, own: readonly NoticeRecord[]): readonly string[] {
  const problems = own.flatMap(({ id, n, state }, place) => [
    ...(n === place + 1 ? [] : [`the notice ${id} has the number ${n}, expected ${place + 1}`]),
    ...(state === 'pending' ? [] : [`the notice ${id} is ${state}, but its receiver is away`]),
  ])
  const [first, ...later] = own
  if (first && first.dueAt === undefined) problems.push(`the first notice of ${key} is not due`)
  return [...problems, ...later.flatMap(({ id, attempts }) => (attempts === 0 ? [] : [`the notice ${id} was tried before an earlier one`]))]
}
