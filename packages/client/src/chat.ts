import type { Agent, InferAgentTools } from '@bowline/agent-loop'
import type { Status } from '@bowline/agent-loop/events'
import { DefaultChatTransport, parsePartialJson, type ChatTransport, type UIDataTypes, type UIMessage } from 'ai'
import { inputChecks } from './arguments.ts'
import { ClientError } from './client-error.ts'
import { checkConnectionOptions, dropOldest } from './client-options.ts'
import type { CallOptions } from './client-session.ts'
import { httpOf, queryOf, type ConnectionOptions, type Http } from './http.ts'
import type { StopReceipt } from './wire-sessions.ts'

/** Metadata of each answer in a chat. */
export interface ChatMetadata {
  readonly sessionId: string
  /** Also the id of the message. */
  readonly runId: string
}

/**
 * Message type of a chat with an agent, `InferAgentUIMessage<typeof agent>`, for `useChat` and `createChatClient`. A call of
 * the tool `weather` is a part of type `tool-weather` with the input and output types of that tool; import the agent as a
 * type. Tools of extensions, subagents and the page arrive under their names too, but are not in the types.
 */
export type InferAgentUIMessage<Given extends Agent, Data extends UIDataTypes = UIDataTypes> = UIMessage<
  ChatMetadata,
  Data,
  InferAgentTools<Given>
>

/** Conversation as returned by `GET /api/chat/{id}`. */
export interface ChatHistory<Message extends UIMessage = UIMessage> {
  readonly id: string
  /** Messages, oldest first. The open answer is included as far as it is written. */
  readonly messages: Message[]
  /** Messages sent after the open answer. They are answered when it has ended. */
  readonly queued: Message[]
  /** Value of `before` that returns older messages. Absent if there are none. */
  readonly next?: string
  /** Log position up to which the messages are complete. */
  readonly cursor: string
  /** Run of the open answer, which is being written or waits for the page. */
  readonly run?: { readonly runId: string; readonly status: Status; readonly stopping: boolean }
}

/** Page of a chat history. */
export interface LoadOptions extends CallOptions {
  /** Maximum number of stored messages, 1–500. Default 200. An answer is never split between pages. */
  readonly limit?: number
  /** `next` of the page of newer messages. */
  readonly before?: string
}

/** Connection of `useChat` and `Chat` of the AI SDK to the chat routes of a server. */
export interface ChatClient<Message extends UIMessage = UIMessage> {
  /**
   * Transport for `useChat` and `Chat` of the AI SDK. It sends only the last message. A refusal is a `ClientError` with a readable
   * text, a code and the problem. If the page stops reading (`stop()` of `useChat`, or navigation), the answer continues.
   */
  readonly transport: ChatTransport<Message>
  /** Resolves with the newest messages of a conversation, or with none if it has not begun. Rejects with a `ClientError`. */
  load(id: string, options?: LoadOptions): Promise<ChatHistory<Message>>
  /**
   * Stops the open answer and the queued messages. The stream of the answer then ends by itself. Resolves when the answer has
   * ended, or after ten seconds with the state `pending`. Messages sent in the meantime are accepted. Rejects with a `ClientError`.
   */
  stop(id: string, options?: CallOptions): Promise<StopReceipt>
}

/**
 * Creates a transport for `useChat` and `Chat` of the AI SDK, with history and stop. Makes no request. Throws a `ClientError`
 * with code `invalid-config`.
 */
export function createChatClient<Message extends UIMessage = UIMessage>(options: ConnectionOptions): ChatClient<Message> {
  checkConnectionOptions(options)
  const http = httpOf(options)
  const inTurn = turns()
  const begun = new Map<string, string>()
  return {
    transport: new OrderedTransport<Message>(http, inTurn, begun),
    async load(id, loadOptions = {}) {
      inputChecks.checkName('id', id)
      inputChecks.checkFields('options', loadOptions, {
        abortSignal: inputChecks.checkSignal,
        limit: inputChecks.whole(1),
        before: inputChecks.optionalName,
      })
      const { abortSignal, ...page } = loadOptions
      const history = await http.json<ChatHistory<Message>>({ method: 'GET', path: pathOf(id) + queryOf(page) }, abortSignal)
      await readInputs(history.messages.at(-1))
      if (page.before === undefined) {
        // The answer may end before the page asks for its stream. The run id still finds it.
        begun.delete(id)
        if (history.run) begun.set(id, history.run.runId)
        dropOldest(begun)
      }
      return history
    },
    async stop(id, stopOptions = {}) {
      inputChecks.checkName('id', id)
      inputChecks.checkFields('options', stopOptions, { abortSignal: inputChecks.checkSignal })
      const { abortSignal } = stopOptions
      const post = (body: object) =>
        http.json<StopReceipt>({ method: 'POST', path: `${pathOf(id)}/stop`, body: JSON.stringify(body) }, abortSignal)
      const receipt = await inTurn(id, () => post({ waitMs: 0 }))
      return receipt.state === 'pending' ? post({ runId: receipt.runId }) : receipt
    },
  }
}

type InTurn = <T>(id: string, run: () => Promise<T>) => Promise<T>

/**
 * Runs the sends and stops of a conversation in order. A stop must not overtake the message that it stops, and the next message
 * must not overtake the stop.
 */
function turns(): InTurn {
  const last = new Map<string, Promise<unknown>>()
  return async (id, run) => {
    const before = last.get(id)
    const turn = before ? before.then(run) : run()
    const ended = turn.then(noop, noop)
    last.set(id, ended)
    try {
      return await turn
    } finally {
      if (last.get(id) === ended) last.delete(id)
    }
  }
}

function noop(): void {
  // The failure is reported to the caller of that turn.
}

class OrderedTransport<Message extends UIMessage> extends DefaultChatTransport<Message> {
  readonly #inTurn: InTurn
  readonly #begun: Map<string, string>

  /** `begun` maps a conversation to the run whose answer was open at the last `load`. */
  constructor(http: Http, inTurn: InTurn, begun: Map<string, string>) {
    super({
      prepareReconnectToStreamRequest: ({ id }) => ({
        api: `${http.options.baseUrl}${pathOf(id)}/stream${queryOf({ run: begun.get(id) })}`,
      }),
      api: `${http.options.baseUrl}/api/chat`,
      prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => {
        // The server stores the conversation. An answered message may come before the last one.
        const message = messages.find((each) => each.id === messageId) ?? messages.at(-1)
        return { body: { id, messages: message ? [message] : [], trigger, messageId } }
      },
      fetch: (url, { method, headers, body, signal } = {}) =>
        fetchWith(http, url as string, { method, headers: new Headers(headers), body, signal }),
    })
    this.#inTurn = inTurn
    this.#begun = begun
  }

  override sendMessages(
    options: Parameters<ChatTransport<Message>['sendMessages']>[0],
  ): ReturnType<DefaultChatTransport<Message>['sendMessages']> {
    this.#begun.delete(options.chatId)
    return this.#inTurn(options.chatId, () => super.sendMessages(options))
  }

  override async reconnectToStream(
    options: Parameters<ChatTransport<Message>['reconnectToStream']>[0],
  ): ReturnType<DefaultChatTransport<Message>['reconnectToStream']> {
    const stream = await super.reconnectToStream(options)
    this.#begun.delete(options.chatId)
    return stream
  }
}

interface Fetched {
  readonly method: string | undefined
  readonly headers: Headers
  readonly body: unknown
  readonly signal: AbortSignal | null | undefined
}

async function fetchWith(http: Http, url: string, { method, headers, body, signal }: Fetched): Promise<Response> {
  const request = {
    method: method === 'POST' ? 'POST' : 'GET',
    path: url.slice(http.options.baseUrl.length),
    headers: { ...Object.fromEntries(headers), accept: 'text/event-stream, application/problem+json' },
    ...(typeof body === 'string' && { body }),
  } as const
  try {
    return await http.open(request, signal ?? new AbortController().signal)
  } catch (error) {
    // The AI SDK recognizes a lost connection by the error of `fetch`, and reconnects by itself.
    throw ClientError.isInstance(error) && error.code === 'network' ? (error.cause ?? error) : error
  }
}

function pathOf(id: string): string {
  return `/api/chat/${encodeURIComponent(id)}`
}

/** Parses the input of a call that is still being written, as far as it is complete. */
async function readInputs(message: UIMessage | undefined): Promise<void> {
  for (const part of message?.parts ?? []) {
    if (!('rawInput' in part) || part.state !== 'input-streaming') continue
    Object.assign(part, { input: (await parsePartialJson(String(part.rawInput))).value })
  }
}
