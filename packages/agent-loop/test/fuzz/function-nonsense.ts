import type { AgentOptions } from '../../src/index.ts'

type ModelFunction = Extract<AgentOptions['model'], (...args: never[]) => unknown>
export type Returned = ReturnType<ModelFunction>

const call = (toolCallId: string, more: object = {}): object => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'pure',
  input: { act: 'return', ms: 0 },
  ...more,
})
const answer = (more: object = {}): object => ({ role: 'assistant', content: 'a', ...more })
const result = (toolCallId: string, more: object = {}): object => ({
  role: 'tool-result',
  toolCallId,
  output: { type: 'text', value: 'x' },
  ...more,
})

function loop(): object {
  const itself: Record<string, unknown> = {}
  return Object.assign(itself, { itself })
}

const cut = (list: readonly unknown[]): readonly unknown[] => Object.assign([...list], { length: list.length + 1 })

/** Values that a model function may return although its type forbids them. Each is made afresh, because it must not be shared. */
const makers: readonly (() => unknown)[] = [
  ...[() => undefined, () => null, () => 'text', () => [], () => ({}), () => [null], () => cut([answer()]), () => [result('x')]],
  ...[() => [{ role: 'user', content: 'hi' }], () => [answer(), { role: 'user', content: 'hi' }], () => [answer({ content: undefined })]],
  ...[
    () => [answer({ content: [call('x'), call('x')] })],
    () => [answer({ content: [call('')] })],
    () => [answer({ content: [{ type: 'thought' }] })],
  ],
  ...[() => [answer({ content: [call('x', { input: undefined })] })], () => [answer({ content: [call('x', { input: 1n })] })]],
  ...[() => [answer({ content: [call('x')] }), result('y')], () => [answer({ content: [call('x')] }), result('x'), result('x')]],
  ...[
    () => [answer({ content: [call('x')] }), result('x', { output: 'bare' })],
    () => [answer({ content: [call('x')] }), result('x', { status: 'fine' })],
  ],
  ...[() => [answer({ stopReason: 'done' })], () => [answer({ usage: 'much' })], () => [answer({ usage: { totalTokens: 'many' } })]],
  ...[
    () => [answer({ usage: { totalTokens: -1_000_000 } })],
    () => [answer({ usage: { inputTokens: Infinity } })],
    () => [answer({ usage: { inputTokens: 0.5 } })],
  ],
  ...[
    () => [answer({ cost: { currency: 'USD', total: 'nothing' } })],
    () => [answer({ cost: 7 })],
    () => [answer({ provider: 7, modelId: null })],
  ],
  ...[
    () => [answer({ error: 'no' })],
    () => [answer({ stopReason: 'error', error: { kind: 7 } })],
    () => [answer({ stopReason: 'error', error: loop() })],
  ],
  ...[() => [answer({ id: 7, at: 'noon', timing: null })], () => [answer({ warnings: 'none', repairs: 7, response: 'x' })], () => [loop()]],
  ...[
    () => [answer({ paused: 'no' })],
    () => [answer({ abortReason: 7, stopReason: 'aborted' })],
    () => [new Date()],
    () => [() => answer()],
  ],
  () => [Object.defineProperty(answer(), 'content', { enumerable: true, get: () => refuse() })],
]

function refuse(): never {
  throw new Error('nobody may look')
}

export const nonsenseCount = makers.length

export function nonsense(number: number): unknown {
  return makers[number % makers.length]?.()
}
