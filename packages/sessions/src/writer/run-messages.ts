import { lookForOutput, type StoredMessage } from '@bowline/agent-loop'
import type { AssistantMessage } from '@bowline/llm'
import type { RunRecord } from '../contract/records.ts'
import type { SessionStore } from '../contract/session-store.ts'

/** Most runs have few messages. */
const firstPage = 4
const furtherPages = 50

/** Returns the messages of a started run, oldest first. They are adjacent on the active path. */
export async function messagesOf(
  store: SessionStore,
  run: Pick<RunRecord, 'id' | 'session'>,
  isEnough: (newest: StoredMessage) => boolean = () => false,
): Promise<readonly StoredMessage[]> {
  const messages: StoredMessage[] = []
  let [before, seen]: [string | undefined, boolean] = [undefined, false]
  for (;;) {
    const page = await store.readPath(run.session, before === undefined ? { limit: firstPage } : { limit: furtherPages, before })
    for (const entry of page.items) {
      if (seen && entry.runId !== run.id) return messages.reverse()
      seen ||= entry.runId === run.id
      if (entry.runId !== run.id || entry.type !== 'message') continue
      messages.push(entry.message)
      if (isEnough(entry.message)) return messages.reverse()
    }
    before = page.items.at(-1)?.id
    if (page.next === undefined || before === undefined) return messages.reverse()
  }
}

export function lastAnswerIn(messages: readonly StoredMessage[]): AssistantMessage | undefined {
  return messages.findLast((message) => message.role === 'assistant')
}

/** Returns the text of the last answer of a run. */
export async function lastTextOf(store: SessionStore, run: RunRecord): Promise<string> {
  return run.turn === undefined ? '' : answerOf(await messagesOf(store, run, ({ role }) => role === 'assistant'))
}

/** Returns the output as JSON if the agent has an output schema, otherwise the text of the last answer. */
export function answerOf(messages: readonly StoredMessage[]): string {
  const { output } = lookForOutput(messages)
  const message = lastAnswerIn(messages)
  return output === undefined ? (message ? textOf(message) : '') : JSON.stringify(output)
}

/** Returns the last answer of a started run. */
export async function lastAnswerOf(store: SessionStore, run: Pick<RunRecord, 'id' | 'session'>): Promise<AssistantMessage | undefined> {
  return lastAnswerIn(await messagesOf(store, run, ({ role }) => role === 'assistant'))
}

export function textOf(message: AssistantMessage): string {
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
