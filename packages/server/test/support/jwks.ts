import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Issuer {
  readonly jwksUrl: string
  /** Number of requests for its keys. */
  readonly fetches: number
  /** Signs claims with the newest key. */
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>
  /** Adds a new key, signs with it from now on, and publishes it with the previous ones. */
  rotate(kid: string): Promise<void>
  /** Sets the failure that is sent instead of the keys. */
  fail(how: 'status' | 'text' | 'redirect' | undefined): void
  stop(): Promise<void>
}

/** Starts an issuer of tokens that serves its keys over real HTTP on loopback. It ends with the test. */
export async function issuer(): Promise<Issuer> {
  const published: object[] = []
  let signing: { readonly kid: string; readonly key: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'] } | undefined
  let failure: 'status' | 'text' | 'redirect' | undefined
  let fetches = 0
  const http = createServer((_request, response) => {
    fetches += 1
    if (failure === 'redirect') response.writeHead(302, { location: '/elsewhere' }).end()
    else if (failure === 'text') response.end('<html>')
    else
      response.writeHead(failure === 'status' ? 500 : 200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: published }))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const stop = async (): Promise<void> => {
    if (!http.listening) return
    http.closeAllConnections()
    http.close()
    await once(http, 'close')
  }
  onTestFinished(stop)
  const it: Issuer = {
    jwksUrl: `http://127.0.0.1:${(http.address() as AddressInfo).port}/keys`,
    get fetches() {
      return fetches
    },
    async sign(claims, header = {}) {
      if (!signing) throw new Error('There is no key.')
      return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: signing.kid, ...header }).sign(signing.key)
    },
    async rotate(kid) {
      const { publicKey, privateKey } = await generateKeyPair('ES256')
      published.push({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' })
      signing = { kid, key: privateKey }
    },
    fail(how) {
      failure = how
    },
    stop,
  }
  await it.rotate('one')
  return it
}
