import * as root from '@bowline/server'
import * as config from '@bowline/server/config'
import * as node from '@bowline/server/node'
import { expect, it } from 'vitest'

it('the package exports these names', () => {
  expect(Object.keys(root).sort()).toEqual(['ServerError', 'createServer', 'createToken', 'problemCodes', 'stateRateLimiter'])
  expect(Object.keys(config)).toEqual(['defineServerConfig'])
  expect(Object.keys(node).sort()).toEqual([
    'createNodeServer',
    'flexibleRateLimiter',
    'guardedDownload',
    'pinoLogger',
    'postgresRateLimiter',
    'prometheusMetrics',
    'serve',
    'tracedRuns',
  ])
})

it('a value that throws when it is inspected is not a ServerError', () => {
  const hostile = new Proxy(
    {},
    {
      has() {
        throw new Error('looked at')
      },
    },
  )
  expect(root.ServerError.isInstance(hostile)).toBe(false)
})
