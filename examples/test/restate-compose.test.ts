import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createClient } from '@bowline/client'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { testDatabase } from '../../scripts/postgres.ts'
import { program } from '../../scripts/programs.ts'
import { isRestateMissing, sharedRestate, startBalancer, titleWithRestate } from '../../scripts/restate.ts'
import { start, type StartOptions } from './start.ts'

interface Service {
  readonly image: string
  readonly environment?: Readonly<Record<string, string>>
  readonly command: readonly string[]
  readonly ports?: readonly string[]
  readonly networks: Readonly<Record<string, { readonly aliases?: readonly string[] }>> | readonly string[]
  readonly healthcheck?: object
}

const folder = join(import.meta.dirname, '../restate-compose')
const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')
const { services, networks } = parse(text, { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
}
const service = (name: string): Service => services[name] ?? expect.fail(`there is no service ${name}`)
const [a, b] = [service('server-a'), service('server-b')]

/** Starts the bundled `bowline-server`. */
const startServer = (options: StartOptions) =>
  start(relative(join(import.meta.dirname, '..'), program('server/src/bin/bowline-server')), options)
const workers = 'http://workers:9080'

describe('restate-compose', () => {
  it('its servers differ in their port only, and are one deployment for Restate', () => {
    expect({ ...a, ports: [] }).toEqual({ ...b, ports: [] })
    expect(a.networks).toMatchObject({ inside: { aliases: ['workers'] } })
    expect(a.command).toContain('--restate.port=9080')
    expect(registration()).toEqual({ uri: workers, force: true })
  })

  it('gives its servers only flags and variables that bowline-server has', async () => {
    const { lines } = await startServer({ arguments: ['start', '--help'] }).end()
    const flags = lines.flatMap((line) => /^ +(--[\w.-]+)/.exec(line)?.[1] ?? [])
    const [name, ...given] = a.command
    expect(name).toBe('start')
    expect(flags).toEqual(expect.arrayContaining(given.map((flag) => flag.split('=')[0])))
    const variables = flags.map((flag) => `BOWLINE_${flag.slice(2).replaceAll(/[.-]/g, '_').toUpperCase()}`)
    const own = Object.keys(a.environment ?? {}).filter((variable) => variable.startsWith('BOWLINE_'))
    expect(own).toEqual(['BOWLINE_STORE'])
    expect(variables).toEqual(expect.arrayContaining(own))
  })

  it('names a version of each image, that of Restate and of Node as tested', () => {
    const catalog = (parse(readFileSync(join(folder, '../../pnpm-workspace.yaml'), 'utf8')) as Catalog).catalog
    const images = [...new Set(Object.values(services).map(({ image }) => image))]
    expect(images).toEqual([
      expect.stringMatching(/^postgres:\d+\.\d+$/),
      `restatedev/restate:${catalog['@restatedev/restate-server']}`,
      'bowline-restate-compose:local',
    ])
    expect(readFileSync(join(folder, 'Dockerfile'), 'utf8')).toContain(`FROM node:${catalog['node']}-slim\n`)
  })

  it('publishes the servers alone, on loopback, and holds no secret', () => {
    const ports = Object.values(services).flatMap((each) => each.ports ?? [])
    expect(ports).toEqual(['127.0.0.1:8787:8787', '127.0.0.1:8788:8787'])
    expect(networks['inside']).toEqual({ internal: true })
    for (const name of ['postgres', 'restate', 'migrate', 'register']) expect(service(name).networks, name).toEqual(['inside'])
    for (const [, value] of text.matchAll(/(?:PASSWORD|SHA256|KEY): (.*)/g)) expect(value).toMatch(/^\$\{\w+:[?-][^}]*\}$/)
    expect(a.environment?.['BOWLINE_STORE']).toContain('://bowline:${POSTGRES_PASSWORD:?')
  })

  it('waits until each server is well, and lets Restate notice a frozen one in time', () => {
    for (const name of ['postgres', 'restate', 'server-a', 'server-b']) expect(service(name).healthcheck, name).toBeDefined()
    for (const what of ['INTERVAL', 'TIMEOUT'])
      expect(service('restate').environment?.[`RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_${what}`]).toBe('15s')
  })
})

describe.skipIf(isRestateMissing)(titleWithRestate('restate-compose on this machine'), () => {
  const restate = sharedRestate()
  const database = testDatabase()

  it('its two servers answer, and after the death of one the other one does', async () => {
    const tokens = await startServer({
      arguments: ['token', 'create', '--id', 'web', '--tenant', 'acme', '--scopes', 'sessions:read,sessions:write,approvals'],
    }).end()
    const [token = '', line = '{}'] = tokens.lines
    const { hash } = JSON.parse(line) as { readonly hash: string }
    const env = { BOWLINE_STORE: database.url, TOKEN_SHA256: hash.replace('sha256:', '') }
    expect(await startServer({ folder, env, arguments: service('migrate').command }).end()).toMatchObject({ faults: '', code: 0 })
    const here: Readonly<Record<string, string>> = {
      '--restate.url=http://restate:8080': `--restate.url=${restate().url}`,
      '--restate.port=9080': '--restate.port=0',
      '--port=8787': '--port=0',
    }
    const started = await Promise.all(
      [a, b].map(async ({ command }) => {
        const running = startServer({ folder, env, arguments: command.map((word) => here[word] ?? word) })
        const [port, worker] = [await portIn(running, 'listening'), await portIn(running, 'listening for Restate')]
        const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, token })
        return { running, worker, client }
      }),
    )
    const [first, second] = started
    if (!first || !second) return expect.fail('two servers were started')
    const balancer = await startBalancer()
    try {
      balancer.use(first.worker, second.worker)
      await restate().register(balancer.url)
      const answer = { status: 'completed', text: 'Hello from a server that Restate has chosen.' }
      for (const { client } of started) expect(await client.session('knots').send('Hi').result()).toMatchObject(answer)
      first.running.process.kill('SIGKILL')
      balancer.use(second.worker)
      expect(await second.client.session('knots').send('Hi again').result()).toMatchObject(answer)
    } finally {
      await balancer.close()
    }
  })
})

interface Catalog {
  readonly catalog: Readonly<Record<string, string>>
}

function registration(): unknown {
  const { command } = service('register')
  expect(command.at(-1)).toBe('http://restate:9070/deployments')
  return JSON.parse(command[command.indexOf('--json') + 1] ?? '')
}

/** Returns the port that a line of the log names. */
async function portIn(running: ReturnType<typeof start>, message: string): Promise<number> {
  const line = await running.printed(new RegExp(`^.*"msg":"${message}".*$`, 'm'))
  return Number(/"url":"http:\/\/[^"]*:(\d+)"/.exec(line)?.[1])
}
