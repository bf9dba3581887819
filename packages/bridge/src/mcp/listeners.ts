import { AsyncLocalStorage } from 'node:async_hooks'
import type { McpServer, ServerEventBus } from '@modelcontextprotocol/server'
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

/** Returns a bus that also tells each listening stream when the agents change that its own user sees. */
export function withAgentEvents(bus: ServerEventBus): ServerEventBus {
  return {
    publish: (event) => bus.publish(event),
    subscribe(listener) {
      const stopWatching = exchanges.getStore()?.bridge?.onAgentsChanged(() => listener({ kind: 'tools_list_changed' }))
      const stopPublished = bus.subscribe(listener)
      return () => {
        stopWatching?.()
        stopPublished()
      }
    },
  }
}

/** Calls `watch` when the server is connected. It returns a function that is called when the connection ends. */
export function watchWhileConnected(server: McpServer, watch: () => () => void): void {
  const connect = server.connect.bind(server)
  server.connect = async (transport) => {
    const stop = watch()
    const { onclose } = server.server
    server.server.onclose = () => {
      stop()
      onclose?.()
    }
    try {
      await connect(transport)
    } catch (error) {
      stop()
      throw error
    }
  }
}
