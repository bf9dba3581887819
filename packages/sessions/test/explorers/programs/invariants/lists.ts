import type { ProgramInvariant } from '../program-end.ts'

/** A clock that is set back moves a session down the list. */
export const listsAreWhole: ProgramInvariant = {
  name: 'a list in pages has each session that stays in its place once, whatever is forked meanwhile',
  check: ({ lists, program }) =>
    program.steps.some((step) => step.do === 'set-clock')
      ? []
      : lists.flatMap(({ before, listed, after }) => {
          const stays = before.filter(({ key, activeAt }) => after.some((each) => each.key === key && each.activeAt === activeAt))
          const times = (key: string): number => listed.filter((each) => each.key === key).length
          const twice = listed.filter(({ key }) => times(key) > 1).map(({ key }) => `the session ${key} is on two pages`)
          return [...new Set(twice), ...stays.flatMap(({ key }) => (times(key) === 0 ? [`the session ${key} is on no page`] : []))]
        }),
}
