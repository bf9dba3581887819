import type { ToolOutput } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import type { HookedResult, ResultPatch } from '../../../src/contract/extension.ts'
import { patchResult } from '../../../src/plugins/extensions/returned-values.ts'

type Status = HookedResult['status']

const text = { type: 'text', value: 'own' } as const
const part = { type: 'text', text: 'own' } as const

describe('patched results', () => {
  it.each<[Status, ToolOutput, ResultPatch, Status, ToolOutput]>([
    ['result', text, { isError: true }, 'error', { type: 'error-text', value: 'own' }],
    ['error', { type: 'error-json', value: [1] }, { isError: false }, 'result', { type: 'json', value: [1] }],
    ['denied', { type: 'execution-denied', reason: 'no' }, { isError: false }, 'denied', { type: 'execution-denied', reason: 'no' }],
    ['unknown', { type: 'error-text', value: 'maybe' }, { isError: true }, 'unknown', { type: 'error-text', value: 'maybe' }],
    ['denied', { type: 'execution-denied', reason: 'no' }, { status: 'result' }, 'result', { type: 'text', value: 'no' }],
    ['denied', { type: 'execution-denied' }, { status: 'error' }, 'error', { type: 'error-text', value: 'denied' }],
    ['result', text, { status: 'denied' }, 'denied', { type: 'execution-denied', reason: 'own' }],
    ['result', text, { status: 'denied', output: { code: 1 } }, 'denied', { type: 'error-json', value: { code: 1 } }],
    ['result', text, { output: { type: 'text', value: 'new' } }, 'result', { type: 'text', value: 'new' }],
    ['result', text, { output: { type: 'text', value: 'new' }, isError: true }, 'error', { type: 'error-text', value: 'new' }],
    ['result', text, { output: { type: 'execution-denied' } }, 'result', { type: 'text', value: 'denied' }],
    [
      'result',
      text,
      { output: { type: 'text', value: 'new', more: 1 } },
      'result',
      { type: 'json', value: { type: 'text', value: 'new', more: 1 } },
    ],
    ['result', text, { output: { type: 'news', value: 'new' } }, 'result', { type: 'json', value: { type: 'news', value: 'new' } }],
    ['result', text, { output: [1] }, 'result', { type: 'json', value: [1] }],
    ['result', text, { output: { type: 'content', value: [part] } }, 'result', { type: 'content', value: [part] }],
    ['error', { type: 'content', value: [] }, { terminate: true }, 'error', { type: 'content', value: [] }],
  ])('A149: %s %o with %o is %s %o', (status, output, patch, newStatus, newOutput) => {
    const patched = patchResult({ status, output, executed: 'here' }, patch)
    expect(patched).toEqual({ status: newStatus, output: newOutput, executed: 'here', ...(patch.terminate && { terminate: true }) })
    expect(Object.isFrozen(patched)).toBe(true)
  })
})
