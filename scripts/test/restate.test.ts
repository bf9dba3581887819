import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isRestateMissing, sharedRestate, titleWithRestate } from '../restate.ts'
import { findRestate } from '../restate/find-restate.ts'

describe('the location of the Restate server', () => {
  it('is in RESTATE_SERVER, else it is the one from npm', () => {
    expect(findRestate({ RESTATE_SERVER: '/opt/restate-server' })).toBe('/opt/restate-server')
    const found = findRestate({})
    expect(found === undefined || existsSync(found)).toBe(true)
  })

  it.runIf(process.platform === 'linux')('the one from npm is installed on Linux', () => {
    expect(findRestate({})).toMatch(/restate-server-linux-\w+\/bin\/restate-server$/)
  })
})

describe.skipIf(isRestateMissing)(titleWithRestate('a Restate server of a test'), () => {
  const restate = sharedRestate()

  it('answers again after kill -9, at the same addresses', async () => {
    const server = restate()
    await server.kill()
    await expect(fetch(server.adminUrl)).rejects.toThrow()
    await server.start()
    expect((await fetch(`${server.url}/restate/health`)).status).toBe(200)
    expect(await server.query('select id from sys_deployment')).toEqual([])
  })
})
