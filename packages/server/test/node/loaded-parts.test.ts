import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

/** Prints which packages that only some need each step loads in a fresh process. */
const script = `
  import { registerHooks } from 'node:module'
  const parts = ['pino', 'prom-client', '@opentelemetry/api', 'rate-limiter-flexible', '@bowline/agent-loop']
  const loaded = new Set()
  registerHooks({
    resolve(specifier, context, next) {
      if (parts.includes(specifier)) loaded.add(specifier)
      return next(specifier, context)
    },
  })
  const steps = {}
  const step = async (name, work) => {
    const before = new Set(loaded)
    await work()
    steps[name] = [...loaded.difference(before)].sort()
  }

  const run = async (command) => {
    const { runCommand } = await import('./src/bin/run-command.ts')
    const code = await runCommand([command], '1', around)
    if (code !== 0) throw new Error(command)
  }
  const around = { environment: {}, folder: '/', print: async () => undefined, tell: async () => undefined }
  await step('help', () => run('--help'))
  await step('import', () => import('@bowline/server/node'))
  await step('openapi', () => run('openapi'))

  const { createNodeServer } = await import('@bowline/server/node')
  const { defineAgent } = await import('@bowline/agent-loop')
  const { createRuntime } = await import('@bowline/sessions')
  const runtime = createRuntime({ agents: [defineAgent({ name: 'a', model: async () => [] })] })
  const logger = { info() {}, warn() {}, error() {} }
  const metrics = { contentType: 'text/plain', text: async () => '' }
  const auth = async () => null
  const rateLimiter = () => ({})
  const refused = async (options) => {
    const code = await createNodeServer({ runtime, auth, ...options }).then(() => 'none', (error) => error.code)
    if (code !== 'invalid-config') throw new Error(code)
  }
  await step('refused', async () => {
    await refused({ registery: 1 })
    await refused({ auth: undefined })
    await refused({ limits: { streams: -1 } })
    await refused({ trustedProxies: ['10/8'] })
  })
  await step('all given', () => createNodeServer({ runtime, auth, rateLimiter, logger, metrics }))
  await step('no auth', () => createNodeServer({ runtime, auth: 'none', logger, metrics }))
  await step('no limiter', () => createNodeServer({ runtime, auth, logger, metrics }))
  await step('no logger', () => createNodeServer({ runtime, auth, metrics }))
  await step('no metrics', () => createNodeServer({ runtime, auth }))
  console.log(JSON.stringify(steps))`

it('V97: the Node entry loads the logger, the metrics and the limiter with the first server that uses them', async () => {
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: join(import.meta.dirname, '../..') })
  expect(JSON.parse(stdout)).toEqual({
    help: [],
    import: ['@bowline/agent-loop'],
    openapi: [],
    refused: [],
    'all given': [],
    'no auth': [],
    'no limiter': ['rate-limiter-flexible'],
    'no logger': ['pino'],
    'no metrics': ['@opentelemetry/api', 'prom-client'],
  })
})
