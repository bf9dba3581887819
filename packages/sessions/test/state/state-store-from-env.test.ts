import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { inspect, promisify } from 'node:util'
import { stateStoreFromEnv } from '@bowline/sessions/env'
import { describe, expect, it } from 'vitest'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../../scripts/redis.ts'
import { sharedKv } from '../../../redis/test/kv-support.ts'
import { newPrefix } from '../../../redis/test/redis-support.ts'

/** Prints the errors of a process in which the packages of the stores are not installed. */
const withoutPackages = `
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(specifier, context, next) {
      if (!/^@bowline\\/(redis|postgres)/.test(specifier)) return next(specifier, context)
      throw Object.assign(new Error('not installed'), { code: 'ERR_MODULE_NOT_FOUND' })
    },
  })
  const { stateStoreFromEnv } = await import('@bowline/sessions/env')
  for (const name of ['REDIS_URL', 'KV_REST_API_URL', 'DATABASE_URL']) {
    await stateStoreFromEnv({ environment: { [name]: 'x' } }).catch(({ code, message }) => console.log(code, message))
  }
  console.log((await stateStoreFromEnv({ environment: {} })).kind)`

const redisUrl = 'redis://:secret@127.0.0.1:1'
const postgres = { DATABASE_URL: 'postgresql://user:secret@127.0.0.1:1/none' }
const kv = { KV_REST_API_URL: 'https://secret.example', KV_REST_API_TOKEN: 'secret' }

describe('the state store from the environment', () => {
  it('O70: is Redis, a KV service, Postgres or memory, and reports which one and why', async () => {
    const cases = [
      [
        {},
        'memory',
        'none of REDIS_URL, KV_REST_API_URL, KV_REST_API_TOKEN, UPSTASH_REDIS_REST_URL, UPSTASH_REDIS_REST_TOKEN, DATABASE_URL is set: records are lost with this process',
      ],
      [{ REDIS_URL: '', KV_REST_API_URL: '', DATABASE_URL: '' }, 'memory', expect.stringMatching(/^none of/) as unknown],
      [{ REDIS_URL: redisUrl }, 'redis', 'REDIS_URL is set'],
      [{ REDIS_URL: redisUrl, ...kv }, 'redis', 'REDIS_URL is set; KV_REST_API_URL, KV_REST_API_TOKEN are set too and not used'],
      [{ REDIS_URL: redisUrl, ...postgres }, 'redis', 'REDIS_URL is set; DATABASE_URL is set too and not used'],
      [kv, 'kv', 'KV_REST_API_URL, KV_REST_API_TOKEN are set, and REDIS_URL is not'],
      [
        { ...kv, ...postgres },
        'kv',
        'KV_REST_API_URL, KV_REST_API_TOKEN are set, and REDIS_URL is not; DATABASE_URL is set too and not used',
      ],
      [
        postgres,
        'postgres',
        'DATABASE_URL is set, and none of REDIS_URL, KV_REST_API_URL, KV_REST_API_TOKEN, UPSTASH_REDIS_REST_URL, UPSTASH_REDIS_REST_TOKEN is',
      ],
    ] as const
    for (const [environment, kind, because] of cases) {
      const chosen = await stateStoreFromEnv({ environment })
      expect(chosen).toMatchObject({ kind, because })
      expect(inspect(chosen, { depth: 9 })).not.toContain('secret')
    }
  })

  it('O65: a missing package of the store is an error that names it, and never replaced by memory', async () => {
    const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '--eval', withoutPackages]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: join(import.meta.dirname, '../..') })
    expect(stdout.split('\n')).toEqual([
      ...['redis', 'redis', 'postgres'].map(
        (name) => `invalid-config stateStoreFromEnv needs the package @bowline/${name}; run: npm install @bowline/${name}`,
      ),
      ...['memory', ''],
    ])
  })

  it('O65: a variable that cannot be used is an error, and never replaced by memory', async () => {
    const cases = [
      [{ REDIS_URL: 'http://:secret@host' }, /REDIS_URL must be redis:/],
      [{ KV_REST_API_URL: 'https://host' }, /needs the variable KV_REST_API_TOKEN/],
      [{ UPSTASH_REDIS_REST_TOKEN: 'secret' }, /needs the variable UPSTASH_REDIS_REST_URL/],
      [{ DATABASE_URL: 'mysql://:secret@host/none' }, /DATABASE_URL must have the form postgresql:/],
      [{ REDIS_URL: 'nothing', ...kv }, /REDIS_URL must be redis:/],
    ] as const
    for (const [environment, message] of cases) {
      await expect(stateStoreFromEnv({ environment })).rejects.toMatchObject({
        code: 'invalid-config',
        message: expect.stringMatching(message) as unknown,
      })
    }
  })
})

describe.skipIf(isRedisUrlMissing)(titleWithRedis('the server of the environment', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  const service = sharedKv(redis)

  it('O70: finds the same records through Redis and through the KV service', async () => {
    const prefix = newPrefix()
    const overRedis = await stateStoreFromEnv({ prefix, environment: { REDIS_URL: redis.url } })
    const overKv = await stateStoreFromEnv({
      prefix,
      environment: { KV_REST_API_URL: service.server.url, KV_REST_API_TOKEN: service.server.token },
    })
    await overRedis.store.compareAndSet('s', 'a', null, 'one', { ttlMs: 'never' })
    expect(await overKv.store.get('s', 'a')).toMatchObject({ value: { value: 'one' } })
    for (const { store } of [overRedis, overKv]) await store.close()
  })
})
