import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'

/** Form of the user's message to this model, as JSON. */
export interface PacedAnswer {
  /** Number of Markdown characters that are sent at full speed before the rest. */
  readonly atOnce: number
  /** Number of pieces after that, at this pace. */
  readonly deltas: number
  readonly perSecond: number
  /** Characters per piece. */
  readonly characters: number
}

export interface PacedModel {
  readonly url: string
  close(): void
}

const pieceCharacters = 8000
/** Pause between parts: the queue of a reader holds a megabyte, and after an overflow it would get only the complete message. */
const pauseMs = 5

/** Starts a server that speaks the OpenAI chat protocol and streams Markdown at the requested pace. */
export async function startPacedModel(): Promise<PacedModel> {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as {
    messages: { role: string; content: string | { text: string }[] }[]
  }
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const { atOnce, deltas, perSecond, characters } = JSON.parse(
    typeof content === 'string' ? content : (content[0]?.text ?? ''),
  ) as PacedAnswer
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const text = markdownOf(atOnce + deltas * characters)
  for (let at = 0; at < atOnce; at += pieceCharacters) {
    write(response, { content: text.slice(at, Math.min(at + pieceCharacters, atOnce)) })
    await setTimeout(pauseMs)
  }
  const startedAt = performance.now()
  for (let count = 0; count < deltas && !response.destroyed; count += 1) {
    const waitMs = startedAt + (count * 1000) / perSecond - performance.now()
    if (waitMs > 0) await setTimeout(waitMs)
    const from = atOnce + count * characters
    write(response, { content: text.slice(from, from + characters) })
  }
  write(response, {}, 'stop')
  response.end('data: [DONE]\n\n')
}

function write(response: ServerResponse, delta: object, finish: string | null = null): void {
  const chunk = {
    id: 'chat',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'paced',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
  response.write(`data: ${JSON.stringify(chunk)}\n\n`)
}

/** Returns Markdown of about this length: headings, text, lists, tables and code. */
export function markdownOf(characters: number): string {
  const parts: string[] = []
  for (let length = 0; length < characters; length += parts.at(-1)?.length ?? 0) parts.push(chapter(parts.length + 1))
  return parts.join('').slice(0, characters)
}

function chapter(number: number): string {
  return `## Chapter ${number}

A paragraph with **bold** words, a [link](https://example.com/${number}) and \`code\`. It goes on for a while, so that it takes
more than one line of the page, and ends here.

- the first thing
- the second thing, with *stress*
- the third thing

| knot | holds | number |
| --- | --- | ---: |
| bowline | under load | ${number} |
| hitch | on a post | ${number + 1} |

\`\`\`ts
const knot = tie('bowline', ${number})
if (!knot.holds) throw new Error('The rope is wet.')
\`\`\`

`
}
