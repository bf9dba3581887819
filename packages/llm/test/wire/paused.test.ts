import { describe, expect, it } from 'vitest'
import type { AssistantMessage, JSONObject, LanguageModelV4ProviderTool, Message } from '../../src/index.ts'
import { messageOf, readAll } from '../support.ts'
import { observedCall } from './observed-call.ts'
import { bodyOf, finish, frame, text } from './raw-bodies.ts'
import { useRawServer, type RawStep } from './raw-server.ts'
import { wireNamed } from './wires.ts'

const server = useRawServer()
const anthropic = wireNamed('anthropic')
const question: Message = { role: 'user', content: 'search for bowline knots' }
const search: LanguageModelV4ProviderTool = {
  type: 'provider',
  id: 'anthropic.web_search_20250305',
  name: 'web_search',
  args: {},
}

const event = (type: string, fields: object): string => frame({ type, ...fields }, type)
const block = (index: number, start: object, ...deltas: readonly object[]): string[] => [
  event('content_block_start', { index, content_block: start }),
  ...deltas.map((delta) => event('content_block_delta', { index, delta })),
  event('content_block_stop', { index }),
]
const json = (partial: string): object => ({ type: 'input_json_delta', partial_json: partial })

const searchCall = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'bowline' } }
const searching = block(1, { ...searchCall, input: {} }, json('{"query":'), json('"bowline"}'))
const page = { type: 'web_search_result', url: 'https://knots.example/', title: 'Knots', encrypted_content: 'RU5D' }
const found = block(2, {
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [{ ...page, page_age: null }],
})
const pause: readonly string[] = [
  event('message_delta', { delta: { stop_reason: 'pause_turn', stop_sequence: null }, usage: { output_tokens: 7 } }),
  event('message_stop', {}),
]

async function ask(messages: readonly Message[], body: readonly RawStep[]): Promise<AssistantMessage> {
  server.answer({ body })
  const events = await readAll(observedCall(anthropic, server, { messages, tools: [search] }).stream)
  expect(JSON.parse(JSON.stringify(events))).toStrictEqual(events)
  return messageOf(events)
}

/** Returns the assistant content of the request with this number. */
function repeated(index: number): readonly JSONObject[] {
  const messages = server.requests[index]?.body['messages'] as { role: string; content: JSONObject[] }[]
  return messages.filter(({ role }) => role === 'assistant').flatMap(({ content }) => content)
}

describe('F18: a turn that the provider pauses', () => {
  it('F18: the message ends as paused, with the call that the provider runs', async () => {
    const message = await ask([question], [...bodyOf('anthropic', text('I search.')), ...searching, ...pause])
    expect(message).toMatchObject({
      stopReason: 'stop',
      rawStopReason: 'pause_turn',
      paused: true,
      content: [
        { type: 'text', text: 'I search.' },
        {
          type: 'tool-call',
          toolCallId: 'srvtoolu_1',
          toolName: 'web_search',
          input: { query: 'bowline' },
          providerExecuted: true,
        },
      ],
      usage: { outputTokens: 7 },
    })
    expect(message).not.toHaveProperty('error')
  })

  it('F18: the next request repeats the open call and sends nothing after it', async () => {
    const paused = await ask([question], [...bodyOf('anthropic', text('I search.')), ...searching, ...pause])
    const final = await ask([question, paused], bodyOf('anthropic', text('It is a knot.'), finish()))
    expect(repeated(1)).toEqual([{ type: 'text', text: 'I search.' }, searchCall])
    expect(server.requests[1]?.body['messages']).toHaveLength(2)
    expect(final).toMatchObject({ stopReason: 'stop', content: [{ text: 'It is a knot.' }] })
    expect(final).not.toHaveProperty('paused')
    expect(final).not.toHaveProperty('repairs')
  })

  it('F18: a call with its result is repeated with it, and is no call to run', async () => {
    const steps = [...bodyOf('anthropic', text('I search.')), ...searching, ...found, ...pause]
    const paused = await ask([question], steps)
    expect(paused).toMatchObject({ stopReason: 'stop', paused: true })
    expect(paused.content.filter(({ type }) => type === 'tool-result')).toMatchObject([{ toolCallId: 'srvtoolu_1' }])
    await ask([question, paused], bodyOf('anthropic', text('It is a knot.'), finish()))
    expect(repeated(1).map(({ type }) => type)).toEqual(['text', 'server_tool_use', 'web_search_tool_result'])
    expect(JSON.stringify(repeated(1))).toContain('RU5D')
  })

  it('F18: a result that comes only in the next message is repeated after its call', async () => {
    const paused = await ask([question], [...bodyOf('anthropic', text('I search.')), ...searching, ...pause])
    const [opening = '', ...answer] = bodyOf('anthropic', text('It is a knot.'), finish())
    const final = await ask([question, paused], [opening, ...found, ...answer])
    expect(final).toMatchObject({
      stopReason: 'stop',
      content: [{ type: 'tool-result', toolCallId: 'srvtoolu_1' }, { type: 'source' }, { text: 'It is a knot.' }],
    })
    const thanks: Message = { role: 'user', content: 'thanks' }
    const last = await ask([question, paused, final, thanks], bodyOf('anthropic', text('You are welcome.'), finish()))
    expect(last).not.toHaveProperty('repairs')
    expect(repeated(2).map(({ type }) => type)).toEqual(['text', 'server_tool_use', 'web_search_tool_result', 'text'])
  })
})
