import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'

type StartedServer = { readonly url: string; stop(): Promise<void> }

/** Service that gives tests a server. The first request starts the server. It is stopped when the last user has closed the desk. */
export class Desk {
  readonly #start: () => Promise<StartedServer>
  readonly #desk: Server
  #server: Promise<StartedServer> | undefined
  #users = 0

  constructor(start: () => Promise<StartedServer>) {
    this.#start = start
    this.#desk = createServer((_request, response) => {
      this.#server ??= this.#start()
      this.#server.then(
        ({ url }) => response.end(url),
        (error: unknown) => response.writeHead(500).end(String(error)),
      )
    })
  }

  /** Returns the address to ask. */
  async open(): Promise<string> {
    this.#users += 1
    if (!this.#desk.listening) {
      this.#desk.listen(0, '127.0.0.1')
      await once(this.#desk, 'listening')
      this.#desk.unref()
    }
    const address = this.#desk.address()
    if (address === null || typeof address === 'string') throw new TypeError('The desk has no port.')
    return `http://127.0.0.1:${address.port}/`
  }

  async close(): Promise<void> {
    this.#users -= 1
    if (this.#users > 0) return
    this.#desk.close()
    const server = this.#server
    this.#server = undefined
    await (await server)?.stop()
  }
}
