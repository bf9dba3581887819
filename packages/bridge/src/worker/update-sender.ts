import type { AgentContext } from '@agentclientprotocol/sdk'
import type { BridgeEvent, PromptResult } from '../agent.ts'
import { withBowline } from './meta.ts'
import type { UpdateMeta } from './meta.ts'

// The bridge accepts lines of up to 4 MiB. A character takes up to 3 bytes, or 6 if it is escaped.
const maxDeltaCharacters = 512 * 1024
const maxJsonCharacters = 1024 * 1024

/** Sends the events of one prompt to the client. Each promise resolves once the pipe has taken the data. */
export interface UpdateSender {
  send(event: BridgeEvent): Promise<void>
  /** Sends a result that is too long for the response. Returns false if it is short enough; then nothing is sent. */
  sendLong(result: PromptResult): Promise<boolean>
  /** Whether any text has been sent. */
  readonly hasText: boolean
}

export interface SenderOptions {
  readonly client: AgentContext
  readonly sessionId: string
  readonly requestId: string
  /** Whether the client is a bridge, so that events can be sent unchanged. */
  readonly ours: boolean
}

export function createSender({ client, sessionId, requestId, ours }: SenderOptions): UpdateSender {
  let hasText = false

  async function update(text: string, meta: UpdateMeta): Promise<void> {
    await client.notify('session/update', {
      sessionId,
      update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
      ...(ours && withBowline(meta)),
    })
  }

  async function sendText(delta: string): Promise<void> {
    hasText = true
    for (let at = 0; at < delta.length; at += maxDeltaCharacters) {
      await update(delta.slice(at, at + maxDeltaCharacters), { requestId })
    }
  }

  async function sendParts(json: string): Promise<void> {
    for (let at = 0; at < json.length; at += maxJsonCharacters) {
      const part = json.slice(at, at + maxJsonCharacters)
      await update('', { requestId, part, last: at + maxJsonCharacters >= json.length })
    }
  }

  async function send(event: BridgeEvent): Promise<void> {
    if (event.type === 'text-delta') return sendText(event.delta)
    if (!ours) return sendForeign(event)
    const json = JSON.stringify(event)
    if (json.length > maxJsonCharacters) await sendParts(json)
    else await update('', { requestId, event })
  }

  /** Sends a plain ACP client the text of an event, if it has any. */
  async function sendForeign(event: BridgeEvent): Promise<void> {
    if (event.type === 'agent-event' && event.event.type === 'text-delta') return sendText(event.event.delta)
    if (event.type !== 'progress' || !event.message) return
    const content = { type: 'text' as const, text: event.message }
    await client.notify('session/update', { sessionId, update: { sessionUpdate: 'agent_thought_chunk', content } })
  }

  return {
    send,
    async sendLong(result) {
      if (!ours || JSON.stringify(result).length <= maxJsonCharacters) return false
      await send({ type: 'result', result })
      return true
    },
    get hasText() {
      return hasText
    },
  }
}
