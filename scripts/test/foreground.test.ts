import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const foreground = new URL('../foreground.mjs', import.meta.url).href

const starter = (program: string) => `
  import { runInForeground } from ${JSON.stringify(foreground)}
  runInForeground(process.execPath, ['--input-type=module', '--eval', ${JSON.stringify(program)}], {})`

/** Starts a process without a terminal that runs `program` in its place. */
function start(program: string) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', starter(program)], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
  return { child, output: () => output, ended: once(child, 'close') }
}

const server = (signal: string) => `
  setInterval(() => {}, 1000)
  process.on('${signal}', () => { console.log('stopped by ${signal}'); process.exit(0) })
  console.log('ready')`

describe('a program in the foreground', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('gets %s, ends by itself, and nothing else is printed', async (signal) => {
    const run = start(server(signal))
    await once(run.child.stdout, 'data')
    run.child.kill(signal)
    expect(await run.ended).toEqual([0, null])
    expect(run.output()).toBe(`ready\nstopped by ${signal}\n`)
  })

  it('is stopped when the shell that npm put between them is killed', async () => {
    const shell = spawn('sh', ['-c', '"$0" --input-type=module --eval "$1"; true', process.execPath, starter(server('SIGTERM'))], {
      env: { ...process.env, npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let output = ''
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    await once(shell.stdout, 'data')
    shell.kill('SIGTERM')
    // The pipe closes when the last process that holds it has ended.
    await once(shell, 'close')
    expect(output).toBe('ready\nstopped by SIGTERM\n')
  })

  it('passes on its exit code', async () => {
    expect(await start('process.exit(3)').ended).toEqual([3, null])
  })

  it('exits with 128 plus the number of the signal that killed it', async () => {
    expect(await start("process.kill(process.pid, 'SIGKILL')").ended).toEqual([137, null])
  })
})
