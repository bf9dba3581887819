import * as env from '@bowline/sessions/env'
import * as file from '@bowline/sessions/file'
import * as memory from '@bowline/sessions/memory'
import * as sessions from '@bowline/sessions'
import * as requests from '@bowline/sessions/requests'
import * as rowStores from '@bowline/sessions/rows'
import * as sqlite from '@bowline/sessions/sqlite'
import { expect, it } from 'vitest'

it('the exported names change only on purpose', () => {
  expect(Object.keys(sessions).sort()).toEqual([
    ...['SessionError', 'createMemories', 'createOrchestration', 'createOrchestrationStateManager', 'createRuntime', 'createStepSequencer'],
    ...[
      'inspectSession',
      'memory',
      'memoryStateStore',
      'noticeOfExpiry',
      'noticesOfEvents',
      'noticesOfRun',
      'removeOrchestrationState',
      'simulateOrchestration',
    ],
    'verifyWebhook',
  ])
  expect(Object.keys(env)).toEqual(['stateStoreFromEnv'])
  expect(Object.keys(file)).toEqual(['fileStore'])
  expect(Object.keys(memory)).toEqual(['memoryStore'])
  expect(Object.keys(requests)).toEqual(['recordRequests'])
  expect(Object.keys(rowStores).sort()).toEqual(['createSessionStore', 'memoryRows', 'numberColumns', 'tables'])
  expect(Object.keys(sqlite).sort()).toEqual(['sqliteStateStore', 'sqliteStore'])
})

it('a value that throws when it is read is not a SessionError', () => {
  const hostile = new Proxy(
    {},
    {
      has() {
        throw new Error('looked at')
      },
    },
  )
  expect(sessions.SessionError.isInstance(hostile)).toBe(false)
})
