import type { Message } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { checkRequired, refuseConfig } from '../../base/checks.ts'
import { wrongShape } from '../../base/messages.ts'
import { isThenable, settleWithin } from '../../base/promises.ts'
import type { MaybePromise } from '../../base/promises.ts'
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
  const settled = await settleWithin(limit, () => checkWhenThere(ephemeral(stepContext(turn))))
  if (settled.kind === 'stopped') return []
  if (settled.kind === 'value') return settled.value
  const message = settled.kind === 'failed' ? messageOf(settled.error) : `no answer within ${timeoutMs} ms`
  turn.log.record({ type: 'error', source: 'ephemeral', message, fatal: false })
  return []
}

function checkWhenThere(returned: ReturnType<Ephemeral>): MaybePromise<readonly Message[]> {
  return isThenable(returned) ? Promise.resolve(returned).then(checked) : checked(returned)
}

/** Throws for what is no list of messages, or cannot be read. */
function checked(messages: readonly Message[]): readonly Message[] {
  checkRequired('ephemeral()', messages, 'a list of messages', Array.isArray)
  for (const [index, message] of messages.entries()) {
    const wrong = wrongShape(message)
    if (wrong !== undefined) refuseConfig(`ephemeral()[${index}] ${wrong}`)
  }
  return messages
}
