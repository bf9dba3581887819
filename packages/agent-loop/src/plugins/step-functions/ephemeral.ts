import type { Message } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { wrongShape } from '../../base/messages.ts'
import { settleWithin } from '../../base/promises.ts'
import type { AgentOptions } from '../../contract/options.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { RequestDraft } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { stepContext } from './step-context.ts'

const timeoutMs = 5_000

type Ephemeral = NonNullable<AgentOptions['ephemeral']>

/** Adds the agent's messages that are stored nowhere to the end of each request, unless the model goes on with its answer. */
export function ephemeralPlugin(ephemeral: Ephemeral): Plugin {
  return { name: 'ephemeral', hooks: { context: (turn, request) => (turn.isPaused ? undefined : add(turn, ephemeral, request)) } }
}

async function add(turn: Turn, ephemeral: Ephemeral, request: RequestDraft): Promise<void> {
  const messages = await ask(turn, ephemeral)
  turn.transcript.estimate.useEphemeral(messages)
  request.messages = [...request.messages, ...messages]
}

/** A source that fails is left out and told. */
async function ask(turn: Turn, ephemeral: Ephemeral): Promise<readonly Message[]> {
  if (turn.stop.requested) return []
  const limit = { clock: turn.clock, abortSignal: turn.stop.signal, timeoutMs }
  const settled = await settleWithin(limit, () => ephemeral(stepContext(turn)))
  if (settled.kind === 'stopped') return []
  if (settled.kind === 'value' && areMessages(settled.value)) return settled.value
  turn.log.record({ type: 'error', source: 'ephemeral', message: objection(settled), fatal: false })
  return []
}

function areMessages(value: unknown): value is readonly Message[] {
  return Array.isArray(value) && value.every((item: unknown) => wrongShape(item) === undefined)
}

function objection(settled: { readonly kind: string; readonly error?: unknown }): string {
  if (settled.kind === 'failed') return messageOf(settled.error)
  return settled.kind === 'value' ? 'ephemeral must return messages' : `no answer within ${timeoutMs} ms`
}
