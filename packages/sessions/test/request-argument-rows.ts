import { manualClock } from '@bowline/llm/testing'
import { memoryStateStore } from '@bowline/sessions'
import { recordRequests } from '@bowline/sessions/requests'
import { func, made, ms, needed, options, someText, whole } from '../../../scripts/argument-table.ts'
import type { ShapedRow, ValueShape } from '../../../scripts/argument-table.ts'

const lifeTime: ValueShape = { good: 'never', accepts: (value) => value === 'never' || ms(1).accepts(value) }
const key: ValueShape = { good: 'room:1', accepts: (value) => typeof value === 'string' && /^[A-Za-z0-9:]+$/.test(value) }

export function requestRows(): Readonly<Record<string, ShapedRow>> {
  const requests = recordRequests({ store: memoryStateStore() })
  const shape = {
    store: needed(made(memoryStateStore())),
    namespace: someText('requests'),
    maxRequests: whole(2),
    maxBytes: whole(16_384),
    ttlMs: lifeTime,
    redact: func(),
    clock: made(manualClock()),
  }
  return {
    recordRequests: { args: [['', options(shape, false)]], call: recordRequests },
    'RequestRecorder.list': {
      args: [
        ['key', key],
        ['', options({ limit: whole(1, 10, 1000), page: { ...someText(), good: undefined } })],
      ],
      call: (given, query) => requests.list(given, query),
    },
    'RequestRecorder.get': {
      args: [
        ['key', key],
        ['id', someText('msg_1')],
      ],
      call: (given, id) => requests.get(given, id),
    },
    'RequestRecorder.remove': { args: [['key', key]], call: (given) => requests.remove(given) },
  }
}
