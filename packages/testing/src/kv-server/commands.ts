/** The part of a Redis client that the server uses. */
export interface CommandClient {
  sendCommand(args: string[]): Promise<unknown>
}

/** An answer of Redis in the format of the REST protocol. */
export type CommandAnswer = { readonly result: unknown } | { readonly error: string }

export type Command = readonly (string | number | boolean)[]

/** Returns a function that executes commands. An error of Redis is returned as an answer. */
export function commandsOf(client: CommandClient): (command: Command) => Promise<CommandAnswer> {
  return async (command) => {
    try {
      return { result: plain(await client.sendCommand(command.map(String))) }
    } catch (error) {
      return { error: error instanceof Error ? error.message : 'ERR' }
    }
  }
}

export function isCommand(value: unknown): value is Command {
  return Array.isArray(value) && value.length > 0 && value.every((part) => ['string', 'number', 'boolean'].includes(typeof part))
}

/** Flattens maps of RESP3 to lists of names and values, as the REST protocol has them. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).flatMap(([name, item]) => [name, plain(item)])
}

/** Encodes texts in base64, at any depth. */
export function encoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(encoded)
  return typeof value === 'string' && value !== 'OK' ? Buffer.from(value).toString('base64') : value
}
