import { addCost, type Cost } from '@bowline/llm'
import type { ProgramInvariant } from '../program-end.ts'

/** Checks that the usage of each child session is added once to each session above, when it ends. */
export const spendingAddsUp: ProgramInvariant = {
  name: 'a session counts the usage and cost of the sessions below it',
  check: ({ sessions, program }) =>
    sessions.flatMap(({ record, runs }) => {
      const below = sessions.filter(({ record: { key } }) => key.startsWith(`${record.key}~`))
      // An interrupted deletion has deleted the child sessions first.
      if (program.steps.some((step) => step.do === 'delete')) return []
      if (record.expiredAt !== undefined || runs.some(({ endedAt }) => endedAt === undefined)) return []
      const tokens = below.reduce((sum, each) => sum + (each.record.usage.totalTokens ?? 0), 0)
      const booked = record.childUsage.totalTokens ?? 0
      const cost = below.reduce<Cost | undefined>(
        (sum, each) => (sum && each.record.cost ? addCost(sum, each.record.cost) : (sum ?? each.record.cost)),
        undefined,
      )
      return [
        ...(tokens === booked ? [] : [`${record.key} counts ${booked} tokens of subagents, expected ${tokens}`]),
        ...(cost?.total === record.childCost?.total
          ? []
          : [`${record.key} counts a cost of ${record.childCost?.total ?? 'nothing'} for subagents, expected ${cost?.total ?? 'nothing'}`]),
      ]
    }),
}
