import type { Writable } from 'node:stream'
import type { BridgeEvent, PendingInput } from '../agent.ts'
import type { Bridge, BridgeResult } from '../bridge-contract.ts'
import { errorBody } from '../error-body.ts'
import { redactionOf } from '../redact.ts'
import { longestStartMs, print } from './print.ts'
import { tell } from './tell.ts'

export interface Question {
  readonly agentId: string
  readonly prompt: string
}

/** Prints the answer while it streams. Returns false and prints the reason to stderr if the agent did not complete it. */
export async function ask(bridge: Bridge, { agentId, prompt }: Question, out: Writable, over: AbortSignal): Promise<boolean> {
  // A remote server may not have listed its agents yet.
  if (!bridge.discover().some(({ id }) => id === agentId)) await bridge.refresh({ waitMs: longestStartMs })
  const run = bridge.delegate({ agentId, prompt, abortSignal: over })
  let printed = ''
  for await (const event of run) {
    const text = textOf(event, printed)
    printed += text
    if (text !== '') await print(out, text)
  }
  const result = await run.result()
  const rest = result.ok && printed === '' ? (result.text ?? '') : ''
  const isOpen = printed + rest !== '' && !(printed + rest).endsWith('\n')
  if (rest !== '' || isOpen) await print(out, `${rest}${isOpen ? '\n' : ''}`)
  const reason = reasonOf(bridge, result)
  if (reason !== undefined) tell(reason)
  return reason === undefined
}

/** Starts a new line before a message that follows another one. */
function textOf(event: BridgeEvent, printed: string): string {
  if (event.type === 'text-delta') return event.delta
  if (event.type !== 'agent-event') return ''
  if (event.event.type === 'text-delta') return event.event.delta
  return event.event.type === 'message-start' && printed !== '' && !printed.endsWith('\n') ? '\n' : ''
}

/** Returns undefined if the agent completed its answer. */
function reasonOf(bridge: Bridge, result: BridgeResult): string | undefined {
  if (!result.ok) {
    const { code, message } = errorBody(result.error, redactionOf(bridge))
    return `${code}: ${message}`
  }
  switch (result.status) {
    case 'completed':
      return undefined
    case 'awaiting-tools':
    case 'awaiting-approval':
      return `${result.agentId} waits for ${(result.pending ?? []).map(questionOf).join(' and ')}, which ask cannot answer; the request is cancelled. Use the agent through an MCP client`
    default:
      return `${result.agentId} did not complete its answer: ${result.status}${result.stopReason === undefined ? '' : ` (${result.stopReason})`}`
  }
}

function questionOf({ kind, toolName, input }: PendingInput): string {
  return `${kind === 'approval' ? 'the approval' : 'the result'} of ${toolName} ${JSON.stringify(input)}`
}
