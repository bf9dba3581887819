import { beforeAll, describe, expect, it } from 'vitest'
import { warmUp } from '../fuzz/warm-up.ts'
import { Exploration } from './explore.ts'
import { crashParts, scriptsPerPart } from './parts.ts'

beforeAll(warmUp)

describe('the former loop and this one, whose process dies around a commit', () => {
  const exploration = new Exploration(3, scriptsPerPart)

  it.each(crashParts)('do the same, part %i', async (part) => {
    await exploration.crashPart(part)
  })

  it('are in the middle of everything when they die', () => {
    const names = [
      ...['death before rejects', 'death after rejects', 'death before is-silent', 'death after is-silent', 'event turn-start cause recovery'],
      ...['event message-discarded reason crash', 'call is unknown', 'call tool wary.reconcile', 'result needs-recovery unknown-outcome'],
    ]
    expect(names.filter((name) => exploration.reach.times(name) < 20)).toEqual([])
  })
})
