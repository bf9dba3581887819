import type { ProgramInvariant } from '../program-end.ts'

interface Line {
  readonly type: string
  readonly leaf?: string | null
  readonly entry?: { readonly id: string; readonly parentId: string | null }
}

/** Key of a copy to which no client writes, so that it stays as imported. */
const untouched = 'c'

export const copiesAreWhole: ProgramInvariant = {
  name: 'an imported session has the path of its export, or does not exist',
  check: ({ copies, sessions }) => {
    const given = copies.filter(({ key }) => key === untouched)
    const made = sessions.find(({ record }) => record.key === untouched)
    if (!made) return given.some(({ isMade }) => isMade) ? [`the session ${untouched} was imported, but does not exist`] : []
    const ids = made.path.map(({ id }) => id)
    const isWhole = given.some(({ lines }) => {
      const path = pathOf(lines.map((line) => JSON.parse(line) as Line))
      // An import adds a result to each call without one.
      return path.every((id) => ids.includes(id)) && made.path.every(({ id, type }) => path.includes(id) || type === 'message')
    })
    return isWhole ? [] : [`the path of the session ${untouched} is that of no export: ${ids.join(', ')}`]
  },
}

function pathOf(lines: readonly Line[]): readonly string[] {
  const parents = new Map(lines.flatMap(({ entry }) => (entry ? [[entry.id, entry.parentId] as const] : [])))
  const path: string[] = []
  for (let id = lines.find(({ type }) => type === 'header')?.leaf; id != null; id = parents.get(id)) path.push(id)
  return path
}
