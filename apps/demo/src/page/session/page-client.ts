import { ClientError, createClient } from '@bowline/client'
import type { Client, ClientSession } from '@bowline/client'

/** The page's cookie says who it is. A server that was killed is back in a moment, so the page asks often. */
const client = createClient({ baseUrl: '', reconnect: { baseMs: 150, maxMs: 2000 } })

/** Sessions that were made here and have no message yet: the server does not know them, so it is not asked. */
const unsent = new Map<string, ClientSession>()

export const pageClient: Client = {
  ...client,
  session: (id) => (id === undefined ? makeSession() : (unsent.get(id) ?? client.session(id))),
}

function makeSession(): ClientSession {
  const session = client.session()
  const made: ClientSession = {
    id: session.id,
    tools: session.tools,
    send(input, options) {
      const run = session.send(input, options)
      void run.accepted().then(({ ok }) => ok && unsent.delete(session.id))
      return run
    },
    attach: (options) => session.attach(options),
    state: async (options) => {
      if (unsent.has(session.id)) throw new ClientError('session-missing', 'The session begins with its first message.')
      return session.state(options)
    },
    messages: (options) => session.messages(options),
    stop: (options) => session.stop(options),
    submitToolResults: (results, options) => session.submitToolResults(results, options),
    resolveTool: (toolCallId, resolution, options) => session.resolveTool(toolCallId, resolution, options),
  }
  unsent.set(session.id, made)
  return made
}
