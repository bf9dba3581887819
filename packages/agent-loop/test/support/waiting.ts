import { APICallError } from 'ai'
import type { Agent, AgentInput, AgentResult, AgentRun, DurableEvent, RunOptions } from '../../src/index.ts'
import type { Conversation } from './conversation.ts'

/** Returns the error that a provider client throws for an HTTP answer. */
export function refusal(
  statusCode: number,
  { retryAfter, message = `status ${statusCode}` }: { retryAfter?: number; message?: string } = {},
): APICallError {
  return new APICallError({
    message,
    url: 'https://provider.test/v1',
    requestBodyValues: {},
    statusCode,
    responseBody: message,
    ...(retryAfter !== undefined && { responseHeaders: { 'retry-after': String(retryAfter) } }),
  })
}

/** Lets time pass until the run has ended, in small steps and only while a timer is set. */
export async function outwait({ clock }: Conversation, run: AgentRun, stepMs = 250): Promise<AgentResult> {
  let ended = false
  const result = run.result().finally(() => (ended = true))
  while (!ended) {
    if (clock.pendingTimers > 0) await clock.advance(stepMs)
    else await new Promise((resolve) => setImmediate(resolve))
  }
  return result
}

/** Runs to the end, including waits. */
export function playOut(talk: Conversation, agent: Agent, input: AgentInput | undefined, options?: RunOptions): Promise<AgentResult> {
  return outwait(talk, talk.run(agent, input, options))
}

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { type: Type }>

/** Returns the stored events of one type. */
export function eventsOf<Type extends DurableEvent['type']>({ journal }: Conversation, type: Type): readonly EventOf<Type>[] {
  return journal.events.filter((event): event is EventOf<Type> => event.type === type)
}

/** Returns the types of the stored events. */
export function typesOf({ journal }: Conversation): readonly string[] {
  return journal.events.map(({ type }) => type)
}
