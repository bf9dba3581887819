import { manualClock } from '@bowline/llm/testing'
import * as postgres from '@bowline/postgres'
import { migratePostgres, postgresStateStore, postgresStore } from '@bowline/postgres'
import { SessionError } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import {
  boolean,
  func,
  made,
  needed,
  object,
  options,
  refusedProblems,
  rowOf,
  takenProblems,
  whole,
} from '../../../scripts/argument-table.ts'
import type { ShapedRow } from '../../../scripts/argument-table.ts'

// Nothing listens there.
const url = 'postgresql://127.0.0.1:1/none'
const isUrl = (value: unknown): boolean => typeof value === 'string' && /^postgres(ql)?:\/\/./.test(value)

const server = {
  connectionString: needed({ good: url, accepts: isUrl }),
  pool: { good: undefined, accepts: (value: unknown) => value === undefined },
  schema: {
    good: 'own',
    accepts: (value: unknown) => value === undefined || (typeof value === 'string' && /^[a-z_][a-z0-9_]{0,62}$/.test(value)),
  },
}

const rows: Readonly<Record<string, ShapedRow>> = {
  postgresStore: {
    args: [
      [
        '',
        options(
          {
            ...server,
            directConnectionString: { good: url, accepts: (value) => value === undefined || isUrl(value) },
            listen: { good: true, accepts: (value) => value === undefined || typeof value === 'boolean' },
            migrate: boolean,
            poolSize: whole(1, 1, 1000),
            onWarning: func(),
            clock: made(manualClock()),
          },
          false,
        ),
      ],
    ],
    call: postgresStore,
  },
  postgresStateStore: {
    args: [
      [
        '',
        options({
          ...server,
          namespace: {
            good: 'own',
            accepts: (value) => value === undefined || (typeof value === 'string' && /^[a-z0-9][a-z0-9_-]{0,62}$/.test(value)),
          },
          migrate: boolean,
          poolSize: whole(1, 1, 1000),
          onWarning: func(),
          clock: made(manualClock()),
          environment: object({}),
        }),
      ],
    ],
    call: postgresStateStore,
  },
  migratePostgres: { args: [['', options(server, false)]], call: migratePostgres },
}

const isRefusal = (error: unknown): error is Error => SessionError.isInstance(error) && error.code.startsWith('invalid-')
const isTaken = (error: unknown): boolean => SessionError.isInstance(error) && !isRefusal(error)

describe('arguments', () => {
  it('S206: every exported function has a row', () => {
    expect(Object.keys(rows).sort()).toEqual(Object.keys(postgres).sort())
  })

  it.each(Object.entries(rows))('S206: %s takes good values, and undefined for each option', async (name, row) => {
    expect(await takenProblems(rowOf(name, row), { isRefusal, isTaken })).toEqual([])
  })

  it.each(Object.entries(rows))('S206, S208: %s refuses values of the wrong type and names their path', async (name, row) => {
    expect(await refusedProblems(rowOf(name, row), { isRefusal, isTaken })).toEqual([])
  })

  it('S208: a pool has at most 1,000 connections', () => {
    expect(postgresStore({ connectionString: url, poolSize: 1000 }).name).toBe('postgres')
    expect(() => postgresStore({ connectionString: url, poolSize: 1001 })).toThrow(/poolSize must be a whole number from 1 to 1000/)
  })
})
