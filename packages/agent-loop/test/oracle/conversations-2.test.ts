import { beforeAll, describe, expect, it } from 'vitest'
import { warmUp } from '../fuzz/warm-up.ts'
import { Exploration } from './explore.ts'
import { conversationParts, scriptsPerPart } from './parts.ts'

beforeAll(warmUp)

describe('the former loop and this one, conversations 2', () => {
  const exploration = new Exploration(2, scriptsPerPart)

  it.each(conversationParts)('do the same, part %i', async (part) => {
    await exploration.part(part)
  })

  it('reach every feature', () => {
    expect(exploration.reach.below(leastPerFile)).toEqual([])
  })
})

/** Two files reach each feature. */
const leastPerFile = 10
