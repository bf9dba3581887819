import { describe, expect, it } from 'vitest'
import { argumentProblems, unlistedNames } from '../../../scripts/argument-table.ts'
import { AgentError } from '../src/index.ts'
import { exported, rows, withoutRow } from './argument-rows.ts'

const isRefusal = (error: unknown): error is Error => AgentError.isInstance(error) && error.code.startsWith('invalid-')

describe('the arguments of every export', () => {
  it('S206: every export has a row, or a reason why it needs none', () => {
    const listed = Object.keys(rows).filter((name) => !name.includes('.'))
    expect(unlistedNames([...new Set(exported)], [...listed, ...Object.keys(withoutRow)])).toEqual([])
  })

  it.each(Object.entries(rows))(
    'S206, S208: %s accepts what its row lists and refuses everything else, naming its path',
    async (_name, row) => {
      expect(await argumentProblems(row, { isRefusal })).toEqual([])
    },
  )
})
