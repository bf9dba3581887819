import { expect, it } from 'vitest'
import { MessageFold } from '../../src/chat/message-fold.ts'
import type { UiChunk } from '../../src/chat/ui-chunk.ts'

function partsOf(...chunks: readonly UiChunk[]): MessageFold['parts'] {
  const fold = new MessageFold()
  for (const chunk of chunks) fold.push(chunk)
  return fold.parts
}

it('V101: a withdrawn step leaves nothing, and parts before it stay', () => {
  const parts = partsOf(
    { type: 'start-step' },
    { type: 'text-start', id: 'a' },
    { type: 'text-delta', id: 'a', delta: 'Kept.' },
    { type: 'text-end', id: 'a' },
    { type: 'start-step' },
    { type: 'text-start', id: 'b' },
    { type: 'text-delta', id: 'b', delta: 'Withdrawn.' },
    { type: 'tool-input-start', toolCallId: 'c', toolName: 'look' },
    { type: 'reset-step' },
    { type: 'text-start', id: 'd' },
    { type: 'text-delta', id: 'd', delta: 'Said.' },
    { type: 'text-end', id: 'd' },
  )
  expect(parts).toEqual([
    { type: 'step-start' },
    { type: 'text', text: 'Kept.', state: 'done' },
    { type: 'step-start' },
    { type: 'text', text: 'Said.', state: 'done' },
  ])
})
