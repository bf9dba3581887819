import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach } from 'vitest'
import { ask, placeOf } from './clients.ts'
import type { Place } from './clients.ts'

/**
 * Fault of a statement. `before`: the connection is cut before the statement arrives. `behind`: the connection is cut after the
 * statement was executed and before its answer arrives. `terminate`: the server ends the process of the connection meanwhile.
 */
export type Cut = 'before' | 'behind' | 'terminate'

export interface WireProxy {
  /** Address of the same database. */
  readonly url: string
  /** Called for each statement. `text` is set if the statement is not prepared. Undefined lets it pass. */
  cut: (text: string | undefined) => Cut | undefined
  /** Cuts all connections. */
  cutAll(): void
  /** Cuts all connections, and refuses further ones. */
  close(): Promise<void>
}

/** Returns a function that starts proxies, which understand the protocol and are stopped after each test. */
export function wireProxies(): (url: string) => Promise<WireProxy> {
  const stops: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })
  return async (url) => {
    const target = placeOf(url)
    const open = new Set<Socket>()
    const cutAll = (): void => open.forEach((socket) => socket.destroy())
    const close = (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve())
        cutAll()
      })
    const proxy: WireProxy = { url: '', cut: () => undefined, cutAll, close }
    const server = createServer((client) => connectThrough(client, target, proxy, open))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    stops.push(close)
    const { user = '', password, database = '' } = target
    const secret = password === undefined ? '' : `:${encodeURIComponent(String(password))}`
    return Object.assign(proxy, { url: `postgresql://${user}${secret}@127.0.0.1:${(server.address() as AddressInfo).port}/${database}` })
  }
}

function connectThrough(client: Socket, target: Place, proxy: WireProxy, open: Set<Socket>): void {
  const upstream =
    target.host?.startsWith('/') === true ? connect(`${target.host}/.s.PGSQL.${target.port}`) : connect(target.port ?? 5432, target.host)
  const cut = (): void => void [client, upstream].forEach((socket) => socket.destroy())
  for (const socket of [client, upstream]) {
    open.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      open.delete(socket)
      cut()
    })
  }
  const wire = new Wire(target, proxy, cut)
  client.on('data', (part) => void wire.fromClient(part).forEach((frame) => upstream.write(frame)))
  upstream.on('data', (part) => void wire.fromServer(part).forEach((frame) => client.write(frame)))
}

/** One connection: counts statements and answers, and cuts where the proxy says so. */
class Wire {
  readonly #target: Place
  readonly #proxy: WireProxy
  readonly #cut: () => void
  readonly #client = new Frames({ startsUntyped: true })
  readonly #server = new Frames({ startsUntyped: false })
  #asked = 0
  #answered = -1
  #pid = 0
  /** Nothing passes to the client any more. The connection is cut after the answer to this statement. */
  #cutBehind: number | undefined
  #isCut = false

  constructor(target: Place, proxy: WireProxy, cut: () => void) {
    this.#target = target
    this.#proxy = proxy
    this.#cut = cut
  }

  fromClient(part: Buffer): readonly Buffer[] {
    const passed: Buffer[] = []
    for (const frame of this.#client.take(part)) {
      if (this.#isCut) break
      if (isStatement(frame)) this.#meet(frame)
      if (!this.#isCut) passed.push(frame)
    }
    return passed
  }

  fromServer(part: Buffer): readonly Buffer[] {
    const passed: Buffer[] = []
    for (const frame of this.#server.take(part)) {
      const type = String.fromCharCode(frame[0] ?? 0)
      if (type === 'K') this.#pid = frame.readInt32BE(5)
      if (type === 'Z') this.#answered += 1
      if (this.#cutBehind === undefined) passed.push(frame)
      else if (this.#answered >= this.#cutBehind) this.#cut()
    }
    return passed
  }

  #meet(frame: Buffer): void {
    this.#asked += 1
    const how = this.#proxy.cut(frame[0] === query ? frame.toString('utf8', 5, frame.length - 1) : undefined)
    if (how === 'before') {
      this.#isCut = true
      this.#cut()
    }
    if (how === 'behind') this.#cutBehind = this.#asked
    if (how === 'terminate') void ask(this.#target, 'select pg_terminate_backend($1)', [this.#pid])
  }
}

const query = 'Q'.charCodeAt(0)
const sync = 'S'.charCodeAt(0)

/** True for messages that the server answers with ReadyForQuery. */
function isStatement(frame: Buffer): boolean {
  return frame[0] === query || frame[0] === sync
}

/** Splits a stream into messages of the protocol: a type, a length that counts itself and the content, and the content. */
class Frames {
  #rest = Buffer.alloc(0)
  #isUntyped: boolean

  constructor({ startsUntyped }: { readonly startsUntyped: boolean }) {
    this.#isUntyped = startsUntyped
  }

  take(part: Buffer): readonly Buffer[] {
    this.#rest = Buffer.concat([this.#rest, part])
    const frames: Buffer[] = []
    for (;;) {
      const typeBytes = this.#isUntyped ? 0 : 1
      if (this.#rest.length < typeBytes + 4) return frames
      const length = typeBytes + this.#rest.readInt32BE(typeBytes)
      if (this.#rest.length < length) return frames
      frames.push(this.#rest.subarray(0, length))
      this.#rest = this.#rest.subarray(length)
      this.#isUntyped = false
    }
  }
}
