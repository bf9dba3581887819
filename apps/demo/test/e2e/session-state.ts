import type { APIResponse, Page } from 'playwright-core'

/**
 * One message in a form that both page and server can provide. Texts are reduced to letters and digits, because Markdown is
 * rendered.
 */
export type Entry =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant'
      readonly id: string
      readonly texts: readonly string[]
      readonly tools: readonly { readonly name: string; readonly state: string }[]
    }

export interface LogEvent {
  readonly type: string
  readonly seq?: number
  readonly toolCallId?: string
  readonly attempt?: number
  readonly idempotencyKey?: string
  readonly input?: unknown
}

interface Part {
  readonly type: string
  readonly text?: string
  readonly toolCallId?: string
  readonly toolName?: string
}

interface Message {
  readonly role: 'user' | 'assistant' | 'tool-result'
  readonly id: string
  readonly content: string | readonly Part[]
  readonly toolCallId?: string
  readonly status?: string
}

/** Retries a request: the server may close an idle connection just when a request arrives. */
function get(page: Page, url: string): Promise<APIResponse> {
  return page.context().request.get(url, { maxRetries: 3 })
}

/** Returns the answer of `GET` for the session, in the form of the visible page. */
export async function readSession(page: Page, sessionId: string): Promise<readonly Entry[]> {
  const answer = await get(page, new URL(`/api/agent/session/${sessionId}`, page.url()).href)
  const { messages, pendingToolCalls, pendingApprovals } = (await answer.json()) as {
    messages: Message[]
    pendingApprovals: { toolCallId: string }[]
    pendingToolCalls: { toolCallId: string; unknown?: true }[]
  }
  const states = new Map<string, string>(pendingToolCalls.map((call) => [call.toolCallId, call.unknown ? 'lost' : 'remote']))
  for (const { toolCallId } of pendingApprovals) states.set(toolCallId, 'pending')
  for (const message of messages) if (message.role === 'tool-result') states.set(message.toolCallId ?? '', message.status ?? '')
  return messages.flatMap((message): Entry[] => {
    if (message.role === 'tool-result') return []
    const parts = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
    const texts = parts.filter(({ type }) => type === 'text' || type === 'reasoning').map(({ text = '' }) => letters(text))
    if (message.role === 'user') return [{ role: 'user', text: texts.join('') }]
    const tools = parts
      .filter(({ type }) => type === 'tool-call')
      .map(({ toolCallId = '', toolName = '' }) => ({ name: toolName, state: states.get(toolCallId) ?? 'missing' }))
    return [{ role: 'assistant', id: message.id, texts, tools }]
  })
}

/** Returns the status of the session's open or last run. */
export async function readRunStatus(page: Page, sessionId: string): Promise<string | undefined> {
  const answer = await get(page, new URL(`/api/agent/session/${sessionId}`, page.url()).href)
  return ((await answer.json()) as { run?: { status: string } }).run?.status
}

/** Returns the stored events of an idle session, from its first one to the cursor of `GET`. */
export async function readLog(page: Page, sessionId: string): Promise<readonly LogEvent[]> {
  const url = new URL(`/api/agent/session/${sessionId}`, page.url()).href
  const { cursor } = (await (await get(page, url)).json()) as { cursor: string }
  const cookies = await page.context().cookies()
  const headers = { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
  const leaving = new AbortController()
  const { body } = await fetch(`${url}/events?from=start`, { headers, signal: leaving.signal })
  const events: LogEvent[] = []
  let text = ''
  for await (const chunk of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines.filter((each) => each.startsWith('data: '))) {
      const event = JSON.parse(line.slice('data: '.length)) as LogEvent
      if (event.seq !== undefined) events.push(event)
    }
    if (events.some((event) => event.seq === Number(cursor))) break
  }
  leaving.abort()
  return events
}

function letters(text: string): string {
  return text
    .replace(/```\w*/g, '')
    .replace(/^\s*\d+\.\s/gm, '')
    .replace(/[^\p{L}\p{N}]+/gu, '')
}
