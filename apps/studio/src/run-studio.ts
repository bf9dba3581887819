import { parseArgs } from 'node:util'
import { serve } from '@hono/node-server'
import { createStudioFetch } from './studio-fetch.ts'

const usage = `bowline-studio --server URL [--port 8788]

Opens the studio before a Bowline server. The token is read from BOWLINE_TOKEN: what it may do, the page may do.`

const defaultPort = 8788
const answerMs = 10_000

/**
 * Runs the studio. Resolves with the exit code. `builtPage` returns the folder of the built page; it is called after the server has
 * answered.
 */
export async function runStudio(args: readonly string[], builtPage: () => Promise<string>): Promise<number> {
  const given = readArguments(args)
  if (given === 'help') {
    console.log(usage)
    return 0
  }
  if (typeof given === 'string') {
    console.error(given)
    return 2
  }
  const { server, port } = given
  const token = process.env['BOWLINE_TOKEN']
  const problem = await problemWith(server, token)
  if (problem !== undefined) {
    console.error(problem)
    return 1
  }
  const pageFolder = await builtPage()
  return new Promise((resolve) => {
    const running = serve({ fetch: createStudioFetch({ server, token, port, pageFolder }), hostname: '127.0.0.1', port }, () =>
      console.log(`The studio is ready: http://127.0.0.1:${port} (before ${server})`),
    )
    running.once('error', (error: NodeJS.ErrnoException) => {
      console.error(error.code === 'EADDRINUSE' ? `Port ${port} is taken. Name another one with --port.` : error.message)
      resolve(1)
    })
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0))
  })
}

function readArguments(args: readonly string[]): { readonly server: string; readonly port: number } | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { server: { type: 'string' }, port: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    })
    const { server, port: text = String(defaultPort) } = values
    if (values.help) return 'help'
    if (server === undefined) return `--server is missing: give the address of a Bowline server.\n\n${usage}`
    if (!/^https?:\/\//.test(server) || !URL.canParse(server))
      return `--server is ${server}: give an http or https address, such as https://agents.example.com.`
    const port = Number(text)
    if (!Number.isInteger(port) || port < 1 || port > 65_535) return `--port is ${text}: give a number from 1 to 65535.`
    return { server, port }
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n\n${usage}`
  }
}

/** Checks the token on the server before the page opens. Returns a text for the user if it would not work. */
async function problemWith(server: string, token: string | undefined): Promise<string | undefined> {
  try {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const { status } = await fetch(`${server.replace(/\/+$/, '')}/api/me`, {
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(answerMs),
    })
    if (status === 401)
      return token === undefined
        ? 'The server asks for a token: set BOWLINE_TOKEN.'
        : 'The server refuses the token in BOWLINE_TOKEN: it may be wrong or have expired.'
    if (status >= 300 && status < 400) return `${server} redirects elsewhere: give the address that it redirects to.`
    return status === 404 ? `${server} is no Bowline server, or one without GET /api/me.` : undefined
  } catch {
    return `${server} does not answer. Is it the right address, and is the server up?`
  }
}
