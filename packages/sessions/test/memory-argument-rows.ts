import { manualClock } from '@bowline/llm/testing'
import { createMemories, memory, memoryStateStore, type Memories } from '@bowline/sessions'
import { boolean, func, list, made, ms, needed, options, someText, whole } from '../../../scripts/argument-table.ts'
import type { ShapedRow, ValueShape } from '../../../scripts/argument-table.ts'

const isText = (value: unknown, most: number): boolean => typeof value === 'string' && value.trim() !== '' && value.length <= most
const scopeValue: ValueShape = { good: 'alice', accepts: (value) => isText(value, 200) }
const scope = ['scope', options({ user: needed(scopeValue) }, false)] as const
const key: ValueShape = { good: 'colour', accepts: (value) => isText(value, 200) }
const lifeTime: ValueShape = { good: 'never', accepts: (value) => value === 'never' || ms(1).accepts(value) }
const signal = made(new AbortController().signal)
const below = ['', options({ below: boolean })] as const

const stored = {
  store: made(memoryStateStore()),
  namespace: someText('memory'),
  maxNotes: whole(1),
  maxNoteBytes: whole(1, 1, 65_536),
  ttlMs: lifeTime,
  embed: func(async () => [[1]]),
  clock: made(manualClock()),
  ids: made({ next: () => 'id' }),
}

export function memoryRows(): Readonly<Record<string, ShapedRow>> {
  const memories: Memories = createMemories({ store: memoryStateStore() })
  return {
    createMemories: { args: [['', options({ ...stored, store: needed(stored.store) }, false)]], call: createMemories },
    memory: {
      args: [
        [
          '',
          options(
            {
              ...stored,
              store: needed(stored.store),
              scope: needed({ good: { user: 'alice' }, accepts: (value) => typeof value === 'function' }),
              maxCharacters: whole(),
            },
            false,
          ),
        ],
      ],
      call: memory,
    },
    'Memories.list': {
      args: [scope, ['', options({ limit: whole(1, 10, 1000), page: { ...someText(), good: undefined } })]],
      call: (given, query) => memories.list(given, query),
    },
    'Memories.get': { args: [scope, ['key', key]], call: (given, name) => memories.get(given, name) },
    'Memories.save': {
      args: [
        scope,
        [
          'note',
          options(
            {
              key: { ...key, accepts: (value: unknown) => value === undefined || key.accepts(value) },
              text: needed({ good: 'text', accepts: (value: unknown) => isText(value, 4_096) }),
              tags: list(['tag'], (item) => isText(item, 64)),
            },
            false,
          ),
        ],
        [
          '',
          options({
            idempotencyKey: someText('once'),
            origin: options({ sessionKey: someText('room:1'), runId: someText('run'), toolCallId: someText('call') }),
            abortSignal: signal,
          }),
        ],
      ],
      call: (given, note, changed) => memories.save(given, note, changed),
    },
    'Memories.search': {
      args: [
        scope,
        ['text', { good: 'words', accepts: (value) => isText(value, 1_000) }],
        ['', options({ limit: whole(1, 10, 100), abortSignal: signal })],
      ],
      call: (given, text, query) => memories.search(given, text, query),
    },
    'Memories.remove': {
      args: [scope, ['key', key], ['', options({ idempotencyKey: someText('once') })]],
      call: (given, name, changed) => memories.remove(given, name, changed),
    },
    'Memories.forget': { args: [scope, below], call: (given, chosen) => memories.forget(given, chosen) },
    'Memories.export': { args: [scope, below], call: (given, chosen) => memories.export(given, chosen) },
  }
}
