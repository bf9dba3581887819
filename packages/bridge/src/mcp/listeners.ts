import { AsyncLocalStorage } from 'node:async_hooks'
import { InMemoryServerEventBus, McpServer } from '@modelcontextprotocol/server'
import type { ServerEvent, Transport } from '@modelcontextprotocol/server'
import type { BridgeView } from './bridge-view.ts'

/** One HTTP request, with the view of its user once its server is made. */
interface Exchange {
  bridge?: BridgeView
}

const exchanges = new AsyncLocalStorage<Exchange>()

/** Handles an HTTP request. A stream that it opens listens as the user for whom its server is made. */
export function inExchange<T>(work: () => T): T {
  return exchanges.run({}, work)
}

/** Sets the user of the current HTTP request. Returns false outside of `inExchange`. */
export function listensAs(bridge: BridgeView): boolean {
  const exchange = exchanges.getStore()
  if (exchange) exchange.bridge = bridge
  return exchange !== undefined
}

/** Tells each listening stream when the agents change that its own user sees. */
export class AgentEventBus extends InMemoryServerEventBus {
  override subscribe(listener: (event: ServerEvent) => void): () => void {
    const stopWatching = exchanges.getStore()?.bridge?.onAgentsChanged(() => listener({ kind: 'tools_list_changed' }))
    const stopPublished = super.subscribe(listener)
    return () => {
      stopWatching?.()
      stopPublished()
    }
  }
}

/** A server that watches something while it is connected. */
export class WatchingServer extends McpServer {
  /** Begins to watch. Returns a function that ends it. */
  watch: () => () => void = () => () => {}

  override async connect(transport: Transport): Promise<void> {
    const stop = this.watch()
    const { onclose } = this.server
    this.server.onclose = () => {
      stop()
      onclose?.()
    }
    try {
      await super.connect(transport)
    } catch (error) {
      stop()
      throw error
    }
  }
}
