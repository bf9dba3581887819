import { manualClock } from '@bowline/llm/testing'
import { stateStoreFromEnv } from '@bowline/sessions/env'
import { kvStateStore } from '@bowline/sessions/kv'
import { redisStateStore } from '@bowline/sessions/redis'
import { func, made, needed, object, options, whole } from '../../../scripts/argument-table.ts'
import type { ShapedRow, ValueShape } from '../../../scripts/argument-table.ts'

const clock = made(manualClock())
const prefix: ValueShape = {
  good: 'own',
  accepts: (value) => value === undefined || (typeof value === 'string' && /^[\w.:/-]{1,64}$/.test(value)),
}

/** Rows of state stores that many processes share. They never connect, since no call is made. */
export const sharedStateStoreRows: Readonly<Record<string, ShapedRow>> = {
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
  stateStoreFromEnv: {
    args: [['', options({ environment: object({}), prefix, onWarning: func() })]],
    call: stateStoreFromEnv,
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
}
