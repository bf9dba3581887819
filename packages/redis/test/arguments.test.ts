import { manualClock } from '@bowline/llm/testing'
import * as redis from '@bowline/redis'
import { redisStateStore } from '@bowline/redis'
import * as kv from '@bowline/redis/kv'
import { kvStateStore } from '@bowline/redis/kv'
import * as testing from '@bowline/redis/testing'
import { startKvServer } from '@bowline/redis/testing'
import { SessionError } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import {
  func,
  made,
  needed,
  object,
  options,
  refusedProblems,
  rowOf,
  someText,
  takenProblems,
  whole,
} from '../../../scripts/argument-table.ts'
import type { ShapedRow, ValueShape } from '../../../scripts/argument-table.ts'

const clock = made(manualClock())
const prefix: ValueShape = {
  good: 'own',
  accepts: (value) => value === undefined || (typeof value === 'string' && /^[\w.:/-]{1,64}$/.test(value)),
}

/** State stores never connect, since no call is made. */
const rows: Readonly<Record<string, ShapedRow>> = {
  kvStateStore: {
    args: [
      [
        '',
        options({
          url: needed({ good: 'https://host', accepts: (value) => typeof value === 'string' && /^https?:\/\/\w/.test(value) }),
          token: needed({ good: 'token', accepts: (value) => typeof value === 'string' && /^\S+$/.test(value) }),
          prefix,
          maxRequestBytes: whole(1),
          timeoutMs: whole(1),
          maxWaitMs: whole(0),
          fetch: func(),
          clock,
          environment: object({}),
        }),
      ],
    ],
    call: kvStateStore,
  },
  redisStateStore: {
    args: [
      [
        '',
        options({
          url: {
            good: 'redis://host',
            accepts: (value) => value === undefined || (typeof value === 'string' && /^rediss?:\/\/\w/.test(value)),
          },
          client: { good: undefined, accepts: (value) => value === undefined },
          prefix,
          maxRecordBytes: whole(1),
          timeoutMs: whole(1),
          onWarning: func(),
          clock,
          environment: object({ REDIS_URL: 'redis://host' }),
        }),
      ],
    ],
    call: redisStateStore,
  },
  startKvServer: {
    args: [['', options({ redisUrl: needed(someText('redis://127.0.0.1:1')), token: someText(), maxRequestBytes: whole(1) }, false)]],
    // There is no Redis: arguments are accepted if it reports that Redis cannot be reached.
    call: startKvServer,
  },
}

const isRefusal = (error: unknown): error is Error => SessionError.isInstance(error) && error.code.startsWith('invalid-')
const isTaken = (error: unknown): boolean => SessionError.isInstance(error) && !isRefusal(error)

describe('arguments', () => {
  it('S206: every exported function has a row', () => {
    expect(Object.keys(rows).sort()).toEqual([redis, kv, testing].flatMap((module) => Object.keys(module)).sort())
  })

  it.each(Object.entries(rows))('S206: %s takes good values, and undefined for each option', async (name, row) => {
    expect(await takenProblems(rowOf(name, row), { isRefusal, isTaken })).toEqual([])
  })

  it.each(Object.entries(rows))('S206, S208: %s refuses values of the wrong type and names their path', async (name, row) => {
    expect(await refusedProblems(rowOf(name, row), { isRefusal, isTaken })).toEqual([])
  })
})
