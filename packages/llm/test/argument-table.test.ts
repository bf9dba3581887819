import { describe, expect, it } from 'vitest'
import { argumentProblems, unlistedNames } from '../../../scripts/argument-table.ts'
import * as checks from '../src/arguments.ts'
import * as llm from '../src/index.ts'
import * as testing from '../src/testing/index.ts'
import { rows, withoutRow } from './argument-rows.ts'

const isRefusal = (error: unknown): error is Error => llm.LlmError.isInstance(error) && error.code.startsWith('invalid-')

describe('the arguments of every export', () => {
  it('S206: every export has a row, or a reason why it needs none', () => {
    const exported = [...Object.keys(llm), ...Object.keys(testing), ...Object.keys(checks)]
    const listed = Object.keys(rows).filter((name) => !name.includes('.'))
    expect(unlistedNames(exported, [...listed, ...Object.keys(withoutRow)])).toEqual([])
  })

  it.each(Object.entries(rows))(
    'S206, S208: %s accepts what its row lists and refuses everything else, naming its path',
    async (_name, row) => {
      expect(await argumentProblems(row, { isRefusal })).toEqual([])
    },
  )
})
