import * as root from '@bowline/server'
import * as config from '@bowline/server/config'
import * as node from '@bowline/server/node'
import * as pino from '@bowline/server/pino'
import * as prometheus from '@bowline/server/prometheus'
import * as rateLimits from '@bowline/server/rate-limits'
import { expect, it } from 'vitest'

it('the package exports these names', () => {
  expect(Object.keys(root).sort()).toEqual(['ServerError', 'createServer', 'createToken', 'problemCodes', 'stateRateLimiter'])
  expect(Object.keys(config)).toEqual(['defineServerConfig'])
  expect(Object.keys(node).sort()).toEqual(['createNodeServer', 'guardedDownload', 'serve', 'tracedRuns'])
  expect(Object.keys(pino)).toEqual(['pinoLogger'])
  expect(Object.keys(prometheus)).toEqual(['prometheusMetrics'])
  expect(Object.keys(rateLimits).sort()).toEqual(['flexibleRateLimiter', 'postgresRateLimiter'])
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
