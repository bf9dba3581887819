import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { isRedisMissing, redisServers, titleWithRedis } from '../redis.ts'
import { findRedis } from '../redis/find-redis.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function folderWithServer(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-find-redis-'))
  folders.push(folder)
  writeFileSync(join(folder, 'redis-server'), '')
  chmodSync(join(folder, 'redis-server'), 0o755)
  return folder
}

describe('the location of the Redis server', () => {
  it('is on PATH, or in REDIS_SERVER', () => {
    const folder = folderWithServer()
    const file = join(folder, 'redis-server')
    expect(findRedis({ PATH: `/nowhere:${folder}` })).toBe(file)
    expect(findRedis({ PATH: '/nowhere', REDIS_SERVER: file })).toBe(file)
    expect(() => findRedis({ PATH: folder, REDIS_SERVER: join(folder, 'other') })).toThrow(
      /REDIS_SERVER names .*other, which cannot be executed/,
    )
  })

  it('a missing one is undefined for a user and a failure in CI', () => {
    expect(findRedis({ PATH: '/nowhere' })).toBeUndefined()
    expect(() => findRedis({ PATH: '/nowhere', CI: 'true' })).toThrow(/apt-get install -y redis-server/)
  })
})

/** Sends one command and returns the first line of the answer. Returns undefined if it cannot connect. */
async function say(port: number, command: string): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    socket.write(`${command}\r\n`)
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    return chunk.toString().split('\r\n')[0]
  } catch {
    return undefined
  } finally {
    socket.destroy()
  }
}

describe.skipIf(isRedisMissing)(titleWithRedis('a Redis server of a test'), () => {
  const start = redisServers()

  it('keeps acknowledged data over kill -9, and is removed when it is stopped', async () => {
    const server = await start()
    expect(await say(server.port, 'SET a 1')).toBe('+OK')
    await server.kill()
    expect(await say(server.port, 'PING')).toBeUndefined()
    await server.start()
    expect(await say(server.port, 'EXISTS a')).toBe(':1')
    await server.stop()
    expect(await say(server.port, 'PING')).toBeUndefined()
    expect(existsSync(server.folder)).toBe(false)
  })

  it('accepts settings, and says why it has not started', async () => {
    const server = await start({ requirepass: 'secret' })
    expect(await say(server.port, 'PING')).toBe('-NOAUTH Authentication required.')
    await expect(start({ 'no-such-setting': '1' })).rejects.toThrow(/has not started[^]*no-such-setting/)
  })

  it('ends with the process that started it', async () => {
    const program = `const { startRedis } = await import(${JSON.stringify(join(import.meta.dirname, '../redis/start-redis.ts'))})
      const { port, folder } = await startRedis(${JSON.stringify(findRedis())})
      console.log(JSON.stringify({ port, folder }))`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    const { value } = (await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()) as { value: string }
    const { port, folder } = JSON.parse(value) as { port: number; folder: string }
    folders.push(folder)
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    child.kill('SIGKILL')
    // The server closes its connections when it ends.
    await once(socket, 'close')
    expect(await say(port, 'PING')).toBeUndefined()
  })
})
